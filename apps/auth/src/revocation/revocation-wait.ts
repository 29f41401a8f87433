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
export interface Seen {
  readonly mark: string
  readonly pending: number
}

export type WaitIntervals = Pick<RevocationIntervals, 'leaseMs' | 'marginMs'>

export type NextStep =
  | { readonly do: 'look'; readonly at: number }
  /** No API uses what was revoked any more. */
  | { readonly do: 'answer' }
  /** The leases of the subscribers that did not acknowledge have expired. */
  | { readonly do: 'strike off, then answer' }

const FIRST_LOOK_MS = 1
const LONGEST_PAUSE_MS = 25

/** Updates the known mark with the one that the store returned at `now`. */
export const knowMark = (known: KnownMark | undefined, mark: string, now: number): KnownMark =>
  known?.mark === mark ? known : { mark, since: now }

/**
 * Decides what a revoker does next. It trusts the list of subscribers only once it has known the mark for a lease and
 * the margin: by then, the lease of an API that subscribed before the store lost its list has expired. Until then, or
 * when a subscriber does not acknowledge, it waits for a lease and the margin after the number was raised: an API that
 * has not received the number cannot have renewed its lease since.
 *
 * @param state.looks how often the store was polled; `seen` is the last result
 */
export function nextStep(
  raised: Raised,
  state: { readonly known: KnownMark; readonly looks: number; readonly seen: Seen | undefined },
  now: number,
  intervals: WaitIntervals,
): NextStep {
  const { known, looks, seen } = state
  const full = intervals.leaseMs + intervals.marginMs
  const deadline = raised.at + full
  if (now >= deadline) return { do: 'strike off, then answer' }
  const believedFrom = known.mark === raised.mark ? known.since + full : deadline
  if (now < believedFrom) return { do: 'look', at: Math.min(believedFrom, deadline) }
  if (seen && seen.mark !== raised.mark) return { do: 'look', at: deadline }
  if (seen?.pending === 0) return { do: 'answer' }
  const pause = Math.min(FIRST_LOOK_MS * 2 ** looks, LONGEST_PAUSE_MS)
  return { do: 'look', at: Math.min(now + pause, deadline) }
}
