import { formatCount } from '@plainpath/commands'

/** Formats the numbers of waitlist entries and messages. */
export const formatErasureCounts = ({ entries, messages }: { entries: number; messages: number }): string =>
  `${formatCount(entries, 'waitlist entry', 'waitlist entries')} and ${formatCount(messages, 'message')}`
