import { expect, test } from 'vitest'
import { decideNextStep, updateKnownMark } from './revocation-wait.ts'

const INTERVALS = { leaseMs: 2_000, marginMs: 250 }
const published = { mark: 'a', sequenceNumber: 3, publishedAt: 10_000 }
const known = { mark: 'a', since: 0 }
const step = (state: Partial<Parameters<typeof decideNextStep>[1]>, now: number) =>
  decideNextStep(published, { knownMark: known, polls: 1, lastPoll: undefined, ...state }, now, INTERVALS)

test('finishes as soon as every subscriber has acknowledged', () => {
  expect(step({ lastPoll: { mark: 'a', pending: 0 } }, 10_001)).toEqual({ kind: 'respond' })
  expect(step({ lastPoll: { mark: 'a', pending: 1 } }, 10_001)).toMatchObject({ kind: 'poll' })
})

test('polls soon at first, then less often, and never later than the lease ends', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 6, 60].map((polls) => {
    const next = step({ polls, lastPoll: { mark: 'a', pending: 1 } }, 10_000)
    return next.kind === 'poll' ? next.at - 10_000 : undefined
  })
  expect(pauses).toEqual([1, 2, 4, 8, 16, 25, 25, 25])
  expect(step({ polls: 9 }, 12_240)).toEqual({ kind: 'poll', at: 12_250 })
})

test('removes subscribers that are silent for a lease and the margin', () => {
  expect(step({ lastPoll: { mark: 'a', pending: 1 } }, 12_249)).toMatchObject({ kind: 'poll' })
  expect(step({ lastPoll: { mark: 'a', pending: 1 } }, 12_250)).toEqual({
    kind: 'remove-pending-then-respond',
  })
})

test('does not trust a subscriber list whose mark it has not known for a lease and the margin', () => {
  const everybody = { mark: 'a', pending: 0 }
  expect(step({ knownMark: { mark: 'a', since: 9_000 }, lastPoll: everybody }, 10_001)).toEqual({
    kind: 'poll',
    at: 11_250,
  })
  expect(step({ knownMark: { mark: 'a', since: 9_000 }, lastPoll: everybody }, 11_250)).toEqual({
    kind: 'respond',
  })
})

test('waits a full lease when the store loses its data meanwhile', () => {
  const full = { kind: 'poll', at: 12_250 }
  expect(step({ lastPoll: { mark: 'b', pending: 0 } }, 10_001)).toEqual(full)
  expect(step({ lastPoll: { mark: '', pending: 0 } }, 10_001)).toEqual(full)
  expect(step({ knownMark: { mark: 'b', since: 0 }, lastPoll: { mark: 'a', pending: 0 } }, 10_001)).toEqual(
    full,
  )
})

test('keeps the time when it first saw a mark, and starts again for a new one', () => {
  const first = updateKnownMark(undefined, 'a', 5)
  expect(updateKnownMark(first, 'a', 9)).toEqual({ mark: 'a', since: 5 })
  expect(updateKnownMark(first, 'b', 9)).toEqual({ mark: 'b', since: 9 })
})
