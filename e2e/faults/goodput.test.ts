import { expect, test } from 'vitest'
import { measureGoodput } from './goodput.ts'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

const FAULT_TIMES = { faultedAt: 3_000, repairedAt: 13_000 }

/** Creates ten entries a second. Their outcome depends on the second in which they begin. */
const createEntries = (seconds: number, outcomeIn: (second: number) => Entry['outcome']): Entry[] =>
  Array.from({ length: seconds * 10 }, (_, index) => ({
    operation: 'jwks',
    startedAt: index * 100,
    endedAt: index * 100 + 5,
    outcome: outcomeIn(Math.floor(index / 10)),
  }))
const isOutage = (second: number) => second >= 3 && second < 13

test('measures goodput that recovers immediately after the fault', () => {
  const entries = createEntries(20, (second) => (isOutage(second) ? 'refused' : 'good'))
  // `recoveredSeconds` includes the first good second.
  expect(measureGoodput(entries, FAULT_TIMES)).toMatchObject({ before: 10, recoveredSeconds: 1 })
  expect(measureGoodput(entries, FAULT_TIMES)?.after).toBeCloseTo(10, 0)
})

test('measures goodput that recovers four seconds after the fault', () => {
  const entries = createEntries(30, (second) => (second >= 3 && second < 17 ? 'refused' : 'good'))
  expect(measureGoodput(entries, FAULT_TIMES)?.recoveredSeconds).toBe(5)
})

test('returns undefined if only every other second is good after the fault', () => {
  const entries = createEntries(40, (second) =>
    second < 3 || (second >= 13 && second % 2 === 0) ? 'good' : 'refused',
  )
  expect(measureGoodput(entries, FAULT_TIMES)).toBeUndefined()
})

test('judge requires goodput to recover within `maxRecoveryMs`, if the fault has it', () => {
  const fault = { components: [], refusedOperations: [], stalls: [], ...FAULT_TIMES }
  // From the end of the fault at 13 s on, `halfGood` alternates between good and wrong seconds. `goodFrom30` recovers after
  // 17 s, and its measured recovery of 18 s includes the first good second.
  const halfGood = createEntries(40, (second) => (second < 3 || second % 2 === 0 ? 'good' : 'wrong'))
  const goodFrom30 = createEntries(40, (second) => (second < 3 || second >= 30 ? 'good' : 'wrong'))
  const listGoodputLines = (entries: Entry[], expectation: { maxRecoveryMs?: number }) =>
    judge(entries, { ...fault, ...expectation }).wrong.filter((line) => line.startsWith('goodput'))
  expect(listGoodputLines(halfGood, {})).toEqual([])
  expect(listGoodputLines(halfGood, { maxRecoveryMs: 15_000 })).toEqual([
    'goodput did not return to 80 % of its former value and stay there',
  ])
  expect(listGoodputLines(goodFrom30, { maxRecoveryMs: 15_000 })).toEqual([
    'goodput took 18.0 s to return to 80 % of its former value',
  ])
  expect(listGoodputLines(goodFrom30, { maxRecoveryMs: 20_000 })).toEqual([])
})
