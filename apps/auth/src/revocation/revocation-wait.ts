import type { RevocationIntervals } from '@plainpath/revocation'

/** A birth mark, and since when this process has known it; by its clock, as all times here. */
export interface KnownMark {
  readonly mark: string
  readonly since: number
}

export interface Raised {
  readonly mark: string
  readonly number: number
  /** After the store's answer. */
  readonly at: number
}

/** What the store last said of those who have not acknowledged. */
export interface Seen {
  readonly mark: string
  readonly pending: number
}

/** What a revoker needs of `RevocationIntervals`. */
export type WaitIntervals = Pick<RevocationIntervals, 'leaseMs' | 'marginMs'>

export type NextStep =
  | { readonly do: 'look'; readonly at: number }
  /** Nobody uses what ended. */
  | { readonly do: 'answer' }
  /** The leases of those who were silent have run out. */
  | { readonly do: 'strike off, then answer' }

const FIRST_LOOK_MS = 1
const LONGEST_PAUSE_MS = 25

/** @returns what is known after the store showed its mark at `now` */
export const knowMark = (known: KnownMark | undefined, mark: string, now: number): KnownMark =>
  known?.mark === mark ? known : { mark, since: now }

/**
 * What a revoker does next. The list of members is believed only once its mark has been known for a lease and the
 * margin: whoever joined before the store lost its list uses no lease of that time any more. Until then, and where
 * somebody is silent, a full lease and the margin after the number was raised are enough: nobody who has not heard of
 * the number can have renewed since.
 *
 * @param looks how often the store was asked already; `seen` is the last answer
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
