import { expect, test } from 'vitest'
import { measureGoodput } from './goodput.ts'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

const WHEN = { faultedAt: 3_000, backAt: 13_000 }

/** Creates ten entries a second; the outcome depends on the second in which they begin. */
const responses = (seconds: number, outcomeIn: (second: number) => Entry['outcome']): Entry[] =>
  Array.from({ length: seconds * 10 }, (_, index) => ({
    operation: 'jwks',
    startedAt: index * 100,
    endedAt: index * 100 + 5,
    outcome: outcomeIn(Math.floor(index / 10)),
  }))
const inOutage = (second: number) => second >= 3 && second < 13

test('measures goodput that recovers at once', () => {
  const entries = responses(20, (second) => (inOutage(second) ? 'refused' : 'good'))
  expect(measureGoodput(entries, WHEN)).toMatchObject({ before: 10, recoveredSeconds: 1 })
  expect(measureGoodput(entries, WHEN)?.after).toBeCloseTo(10, 0)
})

test('measures goodput that recovers four seconds later', () => {
  const entries = responses(30, (second) =>
    inOutage(second) || second < 17 === second >= 3 ? 'refused' : 'good',
  )
  expect(measureGoodput(entries, WHEN)?.recoveredSeconds).toBe(5)
})

test('returns undefined when half of all requests are refused permanently', () => {
  const entries = responses(40, (second) =>
    second < 3 || (second > 13 && second % 2 === 0) ? 'good' : 'refused',
  )
  expect(measureGoodput(entries, WHEN)).toBeUndefined()
})

test('the judgement requires recovery within the time that a fault specifies', () => {
  const fault = { parts: [], refuses: [], stalls: [], ...WHEN }
  const lame = responses(40, (second) => (second < 3 || second % 2 === 0 ? 'good' : 'wrong'))
  const late = responses(40, (second) => (second < 3 || second >= 30 ? 'good' : 'wrong'))
  const found = (entries: Entry[], maxRecoveryMs?: number) =>
    judge(entries, { ...fault, ...(maxRecoveryMs && { maxRecoveryMs }) }).wrong.filter((line) =>
      line.startsWith('goodput'),
    )
  expect(found(lame)).toEqual([])
  expect(found(lame, 15_000)).toEqual(['goodput was never again 80 % of what it had been'])
  expect(found(late, 15_000)).toEqual(['goodput was 80 % of what it had been only after 18.0 s'])
  expect(found(late, 20_000)).toEqual([])
})
