import { expect, test } from 'vitest'
import { decideNextStep, updateKnownMark } from './revocation-wait.ts'

/*
 * Times are milliseconds of a monotonic clock. A mark is the random id of the revocation state in Redis. It changes when Redis
 * may have lost that state (`revocation-wait.ts`).
 */
const INTERVALS = { leaseMs: 2_000, marginMs: 250 }
/** A revocation whose longest wait ends at 12,250: a lease and the margin after its publication. */
const published = { mark: 'a', sequenceNumber: 3, publishedAt: 10_000 }
const knownMark = { mark: 'a', since: 0 }
/** Decides the next step, by default after one poll and with a mark that has been known for a long time. */
const decide = (state: Partial<Parameters<typeof decideNextStep>[1]>, now: number) =>
  decideNextStep(published, { knownMark, pollCount: 1, lastPoll: undefined, ...state }, now, INTERVALS)

test('decideNextStep decides to respond once every subscriber has acknowledged', () => {
  expect(decide({ lastPoll: { mark: 'a', pending: 0 } }, 10_001)).toEqual({ kind: 'respond' })
  expect(decide({ lastPoll: { mark: 'a', pending: 1 } }, 10_001)).toMatchObject({ kind: 'poll' })
})

test('decideNextStep decides to poll soon at first, then less often, and at the latest a lease plus the margin after the publication', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 6, 60].map((pollCount) => {
    const next = decide({ pollCount, lastPoll: { mark: 'a', pending: 1 } }, 10_000)
    return next.kind === 'poll' ? next.at - 10_000 : undefined
  })
  expect(pauses).toEqual([1, 2, 4, 8, 16, 25, 25, 25])
  expect(decide({ pollCount: 9 }, 12_240)).toEqual({ kind: 'poll', at: 12_250 })
})

test('decideNextStep, a lease plus the margin after the publication, decides to remove the subscribers that have not acknowledged', () => {
  expect(decide({ lastPoll: { mark: 'a', pending: 1 } }, 12_249)).toMatchObject({ kind: 'poll' })
  expect(decide({ lastPoll: { mark: 'a', pending: 1 } }, 12_250)).toEqual({
    kind: 'remove-pending-then-respond',
  })
})

test('decideNextStep trusts the subscriber list only once its mark has been known for a lease plus the margin', () => {
  const lastPoll = { mark: 'a', pending: 0 }
  expect(decide({ knownMark: { mark: 'a', since: 9_000 }, lastPoll }, 10_001)).toEqual({
    kind: 'poll',
    at: 11_250,
  })
  expect(decide({ knownMark: { mark: 'a', since: 9_000 }, lastPoll }, 11_250)).toEqual({
    kind: 'respond',
  })
})

test('decideNextStep decides to wait the full lease plus the margin if the mark changes during the wait', () => {
  const pollAtDeadline = { kind: 'poll', at: 12_250 }
  expect(decide({ lastPoll: { mark: 'b', pending: 0 } }, 10_001)).toEqual(pollAtDeadline)
  // Redis has no valid state.
  expect(decide({ lastPoll: { mark: '', pending: 0 } }, 10_001)).toEqual(pollAtDeadline)
  // Another publication has already read the new mark.
  const stateWithNewKnownMark = { knownMark: { mark: 'b', since: 0 }, lastPoll: { mark: 'a', pending: 0 } }
  expect(decide(stateWithNewKnownMark, 10_001)).toEqual(pollAtDeadline)
})

test('updateKnownMark keeps the time of the first read of a mark, and replaces it when the mark changes', () => {
  const knownSinceFive = updateKnownMark(undefined, 'a', 5)
  expect(updateKnownMark(knownSinceFive, 'a', 9)).toEqual({ mark: 'a', since: 5 })
  expect(updateKnownMark(knownSinceFive, 'b', 9)).toEqual({ mark: 'b', since: 9 })
})
