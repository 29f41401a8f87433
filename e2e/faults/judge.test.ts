import { describe, expect, test } from 'vitest'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

/** A fault from 1 s to 3 s. All times in this file are in milliseconds. */
const FAULT = {
  components: ['auth database'],
  refusedOperations: ['register'],
  faultedAt: 1_000,
  repairedAt: 3_000,
  stalls: [],
} as const

const createEntry = (overrides: Partial<Entry>): Entry => ({
  operation: 'register',
  startedAt: 2_000,
  endedAt: 2_010,
  outcome: 'good',
  ...overrides,
})
const refusedEntry = createEntry({ outcome: 'refused' })
/** One good response after the fault to each operation that needs auth's database. */
const recoveredEntries = (
  [
    'register',
    'token',
    'bound token',
    'read with a token',
    'read with a bound token',
    'use of a person’s token',
    'use of a revoked token',
    'refresh',
    'revoke',
    'delete agent',
    'token request of a deleted agent',
  ] as const
).map((operation, index) => createEntry({ operation, startedAt: 3_100, endedAt: 3_200 + index }))
const findMistakes = (...entries: Entry[]) =>
  judge([refusedEntry, ...recoveredEntries, ...entries], FAULT).wrong

describe('the judgement', () => {
  test('finds nothing wrong when affected operations are refused during the fault and recover', () => {
    expect(judge([refusedEntry, ...recoveredEntries], FAULT)).toMatchObject({
      requests: 12,
      good: 11,
      refused: 1,
      wrong: [],
      firstGoodSeconds: 0.21,
      slowestSeconds: 0.11,
    })
  })

  test.for<[string, Partial<Entry>, string]>([
    ['a wrong response', { outcome: 'wrong', mistake: '500' }, 'register: 500 (1)'],
    [
      'a refusal of an operation that needs no failed part',
      { operation: 'jwks', outcome: 'refused' },
      'jwks: refused although it needs nothing that failed (1)',
    ],
    [
      'a refusal by the API while only auth’s database has failed',
      { operation: 'join', outcome: 'refused' },
      'join: refused although it needs nothing that failed (1)',
    ],
    [
      'a refusal before the fault',
      { outcome: 'refused', startedAt: 10, endedAt: 20 },
      'register: refused before the fault (1)',
    ],
    [
      'a refusal more than 5 s after the fault',
      { outcome: 'refused', startedAt: 8_001, endedAt: 8_002 },
      'register: refused more than 5 s after the fault (1)',
    ],
    [
      'a good response after more than 5 s',
      { endedAt: 9_001 },
      'register: responded after more than 5 s (1)',
    ],
    [
      'a refusal that took more than 5 s',
      { outcome: 'refused', endedAt: 9_001 },
      'register: responded after more than 5 s (1)',
    ],
  ])('reports %s', ([, overrides, expected]) => {
    expect(findMistakes(createEntry(overrides))).toEqual([expected])
  })

  test('permits a refusal that began before the fault and ended during it, and one shortly after it', () => {
    expect(
      findMistakes(
        createEntry({ outcome: 'refused', startedAt: 990, endedAt: 1_001 }),
        createEntry({ outcome: 'refused', startedAt: 7_999, endedAt: 8_010 }),
      ),
    ).toEqual([])
  })

  test('excuses only refusals after a time-out, during a stall and shortly after it', () => {
    // A stall excuses requests that begin until 300 ms after it, so the request at 2,001 ms is just too late.
    const stalls = [{ from: 1_500, to: 1_700 }]
    const createRefusedJoin = (startedAt: number, endedAt: number) =>
      createEntry({ operation: 'join', outcome: 'refused', startedAt, endedAt })
    const afterTimeout = createRefusedJoin(2_500, 2_700)
    const beforeStall = createRefusedJoin(1_490, 1_499)
    const duringStall = createRefusedJoin(1_650, 1_660)
    const shortlyAfterStall = createRefusedJoin(1_999, 2_009)
    const longAfterStall = createRefusedJoin(2_001, 2_010)
    const wrong = createEntry({
      operation: 'join',
      outcome: 'wrong',
      mistake: '500',
      startedAt: 1_650,
      endedAt: 1_660,
    })
    // With so many good requests, the excused ones are less than 4 % of all requests.
    const goodJoins = Array.from({ length: 100 }, () => createEntry({ operation: 'join' }))
    const excusedJoins = [afterTimeout, duringStall, shortlyAfterStall]
    const joins = [...goodJoins, ...excusedJoins, beforeStall, longAfterStall, wrong]
    expect(judge([refusedEntry, ...recoveredEntries, ...joins], { ...FAULT, stalls })).toMatchObject({
      excused: 3,
      wrong: ['join: refused although it needs nothing that failed (2)', 'join: 500 (1)'],
    })
  })

  test('reports excused refusals that exceed 4 % of all requests', () => {
    const refusal = createEntry({ operation: 'join', outcome: 'refused', startedAt: 2_500, endedAt: 2_700 })
    expect(findMistakes(refusal)).toEqual([
      '1 refusals after a time-out or a stall that the fault does not explain',
    ])
  })

  test('reports that a fault had no effect', () => {
    expect(judge(recoveredEntries, FAULT).wrong).toEqual([
      'register: never refused, so the fault had no effect',
    ])
  })

  test('reports that an operation did not recover, even if a request that began during the fault succeeds', () => {
    const [register, ...others] = recoveredEntries
    const earlyRegister = { ...register!, startedAt: 2_999 }
    const judgement = judge([refusedEntry, earlyRegister, ...others], FAULT)
    expect(judgement.wrong).toEqual(['register: no good response after the fault'])
    expect(judgement.firstGoodSeconds).toBeUndefined()
  })

  test('reports how long refused requests waited', () => {
    const refusals = [10, 20, 900].map((ms) => createEntry({ outcome: 'refused', endedAt: 2_000 + ms }))
    expect(judge([...refusals, ...recoveredEntries], FAULT).shedSeconds).toEqual({ half: 0.02, all: 0.9 })
    expect(judge(recoveredEntries, { ...FAULT, refusedOperations: [] }).shedSeconds).toBeUndefined()
  })

  test('applies the grace period and the maximum share of refusals that a fault specifies', () => {
    const lateRefusal = createEntry({ outcome: 'refused', startedAt: 9_000, endedAt: 9_010 })
    const entries = [refusedEntry, ...recoveredEntries, lateRefusal]
    expect(judge(entries, FAULT).wrong).toEqual(['register: refused more than 5 s after the fault (1)'])
    expect(judge(entries, { ...FAULT, graceMs: 10_000 }).wrong).toEqual([])
    expect(judge(entries, { ...FAULT, graceMs: 10_000, maxRefusedShare: 0.1 }).wrong).toEqual([
      '2 of 13 refused',
    ])
  })

  test('permits refusals up to the specified share, but no wrong response, for a fault that is itself load', () => {
    const loadFault = { ...FAULT, components: [], refusedOperations: [], maxShedShare: 0.5 }
    const shed = createEntry({ operation: 'token', outcome: 'refused' })
    const good = createEntry({ operation: 'token' })
    expect(judge([shed, good], loadFault).wrong).toEqual([])
    expect(judge([shed, shed, good], loadFault).wrong).toEqual(['2 of 3 refused'])
    expect(judge([shed, good], { ...loadFault, maxShedShare: undefined }).wrong).not.toEqual([])
    const wrong = createEntry({ operation: 'token', outcome: 'wrong', mistake: 'it is still active' })
    expect(judge([wrong, good], loadFault).wrong).toEqual(['token: it is still active (1)'])
  })
})
