import type { RevocationIntervals } from '@plainpath/revocation'

/** The store's mark, and since when this process has known it. All times here are milliseconds of its monotonic clock. */
export interface KnownMark {
  readonly mark: string
  readonly since: number
}

export interface Raised {
  readonly mark: string
  readonly number: number
  /** When the store had confirmed the number. */
  readonly at: number
}

/** How many subscribers had not acknowledged when the store was last polled. */
export interface PollResult {
  readonly mark: string
  readonly pending: number
}

export type WaitIntervals = Pick<RevocationIntervals, 'leaseMs' | 'marginMs'>

export type NextStep =
  | { readonly do: 'poll'; readonly at: number }
  /** No API uses what was revoked any more. */
  | { readonly do: 'respond' }
  /** The leases of the subscribers that did not acknowledge have expired. */
  | { readonly do: 'remove subscribers, then respond' }

const FIRST_POLL_MS = 1
const LONGEST_PAUSE_MS = 25

/** Updates the known mark with the one that the store returned at `now`. */
export const knowMark = (knownMark: KnownMark | undefined, mark: string, now: number): KnownMark =>
  knownMark?.mark === mark ? knownMark : { mark, since: now }

/**
 * Decides what a revoker does next. It trusts the list of subscribers only once it has known the mark for a lease and
 * the margin: by then, the lease of an API that subscribed before the store lost its list has expired. Until then, or
 * when a subscriber does not acknowledge, it waits for a lease and the margin after the number was raised: an API that
 * has not received the number cannot have renewed its lease since.
 *
 * @param state.polls how often the store was polled; `seen` is the last result
 */
export function nextStep(
  raised: Raised,
  state: { readonly knownMark: KnownMark; readonly polls: number; readonly lastPoll: PollResult | undefined },
  now: number,
  intervals: WaitIntervals,
): NextStep {
  const { knownMark, polls, lastPoll } = state
  const full = intervals.leaseMs + intervals.marginMs
  const deadline = raised.at + full
  if (now >= deadline) return { do: 'remove subscribers, then respond' }
  const believedFrom = knownMark.mark === raised.mark ? knownMark.since + full : deadline
  if (now < believedFrom) return { do: 'poll', at: Math.min(believedFrom, deadline) }
  if (lastPoll && lastPoll.mark !== raised.mark) return { do: 'poll', at: deadline }
  if (lastPoll?.pending === 0) return { do: 'respond' }
  const pause = Math.min(FIRST_POLL_MS * 2 ** polls, LONGEST_PAUSE_MS)
  return { do: 'poll', at: Math.min(now + pause, deadline) }
}
