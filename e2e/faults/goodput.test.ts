import { expect, test } from 'vitest'
import { goodputOf } from './goodput.ts'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

const WHEN = { faultedAt: 3_000, backAt: 13_000 }

/** Ten requests a second, as the second in which they begin has it. */
const answers = (seconds: number, outcomeIn: (second: number) => Entry['outcome']): Entry[] =>
  Array.from({ length: seconds * 10 }, (_, index) => ({
    operation: 'jwks',
    startedAt: index * 100,
    endedAt: index * 100 + 5,
    outcome: outcomeIn(Math.floor(index / 10)),
  }))
const inOutage = (second: number) => second >= 3 && second < 13

test('goodput that is back at once', () => {
  const entries = answers(20, (second) => (inOutage(second) ? 'refused' : 'good'))
  expect(goodputOf(entries, WHEN)).toMatchObject({ before: 10, recoveredSeconds: 1 })
  expect(goodputOf(entries, WHEN)?.after).toBeCloseTo(10, 0)
})

test('goodput that is back four seconds later', () => {
  const entries = answers(30, (second) =>
    inOutage(second) || second < 17 === second >= 3 ? 'refused' : 'good',
  )
  expect(goodputOf(entries, WHEN)?.recoveredSeconds).toBe(5)
})

test('goodput that never is what it was: half of all requests are refused for good', () => {
  const entries = answers(40, (second) =>
    second < 3 || (second > 13 && second % 2 === 0) ? 'good' : 'refused',
  )
  expect(goodputOf(entries, WHEN)).toBeUndefined()
})

test('the judgement wants it within the time that a fault allows, where it says so', () => {
  const fault = { parts: [], refuses: [], stalls: [], ...WHEN }
  const lame = answers(40, (second) => (second < 3 || second % 2 === 0 ? 'good' : 'wrong'))
  const late = answers(40, (second) => (second < 3 || second >= 30 ? 'good' : 'wrong'))
  const found = (entries: Entry[], recoversMs?: number) =>
    judge(entries, { ...fault, ...(recoversMs && { recoversMs }) }).wrong.filter((line) =>
      line.startsWith('goodput'),
    )
  expect(found(lame)).toEqual([])
  expect(found(lame, 15_000)).toEqual(['goodput was never again 80 % of what it had been'])
  expect(found(late, 15_000)).toEqual(['goodput was 80 % of what it had been only after 18.0 s'])
  expect(found(late, 20_000)).toEqual([])
})
