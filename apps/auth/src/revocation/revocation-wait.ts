import type { RevocationIntervals } from '@plainpath/revocation'

/**
 * The mark is the random id of the revocation state in Redis. It changes when Redis may have lost that state. `since` is when
 * this process first read the mark. All times here are milliseconds of the monotonic process clock.
 */
export interface KnownMark {
  readonly mark: string
  readonly since: number
}

/** A published revocation. */
export interface PublishedRevocation {
  /** The mark of the store that published it. */
  readonly mark: string
  /** The number that the store assigned to the revocation, which is comparable only under the same mark. */
  readonly sequenceNumber: number
  /** When the store confirmed the publication. */
  readonly publishedAt: number
}

/** The result of polling the store: its mark, and the number of subscribers that have not acknowledged. */
export interface PollResult {
  readonly mark: string
  readonly pending: number
}

export type WaitIntervals = Pick<RevocationIntervals, 'leaseMs' | 'marginMs'>

export type NextStep =
  /** Poll the store at this time. */
  | { readonly kind: 'poll'; readonly at: number }
  /** No API accepts the revoked tokens any more. */
  | { readonly kind: 'respond' }
  /** The leases of all subscribers that have not acknowledged have expired. Remove any such subscribers, then respond. */
  | { readonly kind: 'remove-pending-then-respond' }

/** The pause between two polls begins with the first value, and doubles after each poll up to the second. */
const FIRST_PAUSE_MS = 1
const MAX_PAUSE_MS = 25

/** Returns the known mark after the store returned `mark` at `now`. A new mark is trusted later: see `decideNextStep`. */
export const updateKnownMark = (knownMark: KnownMark | undefined, mark: string, now: number): KnownMark =>
  knownMark?.mark === mark ? knownMark : { mark, since: now }

/**
 * Decides what an auth process does next after it has published a revocation.
 *
 * - It trusts the list of subscribers once it has known the mark for a lease and the margin. A new mark means that Redis may have
 *   lost the list. An API that was on the lost list may use cached responses until its lease expires.
 * - If it trusts the list, it polls until every subscriber has acknowledged, and then responds. If the mark changes in the
 *   meantime, it no longer trusts the list.
 * - In any case, it responds when a lease and the margin have passed since the publication. An API that has not received the
 *   revocation cannot have renewed its lease in that time.
 *
 * @param state.pollCount the number of polls so far
 * @param state.lastPoll the result of the last poll
 */
export function decideNextStep(
  published: PublishedRevocation,
  state: {
    readonly knownMark: KnownMark
    readonly pollCount: number
    readonly lastPoll: PollResult | undefined
  },
  now: number,
  intervals: WaitIntervals,
): NextStep {
  const { knownMark, pollCount, lastPoll } = state
  const fullWaitMs = intervals.leaseMs + intervals.marginMs
  const deadline = published.publishedAt + fullWaitMs
  if (now >= deadline) return { kind: 'remove-pending-then-respond' }
  const trustedFrom = knownMark.mark === published.mark ? knownMark.since + fullWaitMs : deadline
  if (now < trustedFrom) return { kind: 'poll', at: Math.min(trustedFrom, deadline) }
  if (lastPoll && lastPoll.mark !== published.mark) return { kind: 'poll', at: deadline }
  if (lastPoll?.pending === 0) return { kind: 'respond' }
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** pollCount, MAX_PAUSE_MS)
  return { kind: 'poll', at: Math.min(now + pause, deadline) }
}
