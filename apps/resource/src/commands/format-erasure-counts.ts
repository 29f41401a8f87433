import { formatCount } from '@plainpath/domain'

/** Formats how many entries and messages an erasure covers, such as `1 waitlist entry and 2 messages`. */
export const formatErasureCounts = ({ entries, messages }: { entries: number; messages: number }): string =>
  `${formatCount(entries, 'waitlist entry', 'waitlist entries')} and ${formatCount(messages, 'message')}`
