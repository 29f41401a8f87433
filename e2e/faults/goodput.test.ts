import { expect, test } from 'vitest'
import { measureGoodput } from './goodput.ts'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

const FAULT_TIMES = { faultedAt: 3_000, backAt: 13_000 }

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
  expect(measureGoodput(entries, FAULT_TIMES)).toMatchObject({ before: 10, recoveredSeconds: 1 })
  expect(measureGoodput(entries, FAULT_TIMES)?.after).toBeCloseTo(10, 0)
})

test('measures goodput that recovers four seconds after the fault', () => {
  const entries = createEntries(30, (second) => (second >= 3 && second < 17 ? 'refused' : 'good'))
  expect(measureGoodput(entries, FAULT_TIMES)?.recoveredSeconds).toBe(5)
})

test('returns undefined if half of all requests are still refused after the fault', () => {
  const entries = createEntries(40, (second) =>
    second < 3 || (second > 13 && second % 2 === 0) ? 'good' : 'refused',
  )
  expect(measureGoodput(entries, FAULT_TIMES)).toBeUndefined()
})

test('the judgement requires recovery within the time that a fault specifies', () => {
  const fault = { components: [], refusedOperations: [], stalls: [], ...FAULT_TIMES }
  const halfGood = createEntries(40, (second) => (second < 3 || second % 2 === 0 ? 'good' : 'wrong'))
  const goodFrom30 = createEntries(40, (second) => (second < 3 || second >= 30 ? 'good' : 'wrong'))
  const findGoodputMistakes = (entries: Entry[], limits: { maxRecoveryMs?: number }) =>
    judge(entries, { ...fault, ...limits }).wrong.filter((line) => line.startsWith('goodput'))
  expect(findGoodputMistakes(halfGood, {})).toEqual([])
  expect(findGoodputMistakes(halfGood, { maxRecoveryMs: 15_000 })).toEqual([
    'goodput was never again 80 % of what it had been',
  ])
  expect(findGoodputMistakes(goodFrom30, { maxRecoveryMs: 15_000 })).toEqual([
    'goodput was 80 % of what it had been only after 18.0 s',
  ])
  expect(findGoodputMistakes(goodFrom30, { maxRecoveryMs: 20_000 })).toEqual([])
})
