import { describe, expect, test } from 'vitest'
import { judge } from './judge.ts'
import type { Entry } from './load.ts'

const FAULT = {
  parts: ['auth database'],
  refuses: ['register'],
  faultedAt: 1_000,
  backAt: 3_000,
  stalls: [],
} as const

const entry = (more: Partial<Entry>): Entry => ({
  operation: 'register',
  startedAt: 2_000,
  endedAt: 2_010,
  outcome: 'good',
  ...more,
})
const refused = entry({ outcome: 'refused' })
/** One good response after the fault for every operation that needs the database of auth. */
const recovered = (
  [
    'register',
    'token',
    'bound token',
    'read with a token',
    'read with a bound token',
    'use of a person’s token',
    'use of an ended token',
    'refresh',
    'revoke',
    'delete agent',
    'token of a deleted agent',
  ] as const
).map((operation, index) => entry({ operation, startedAt: 3_100, endedAt: 3_200 + index }))
const wrongOf = (...entries: Entry[]) => judge([refused, ...recovered, ...entries], FAULT).wrong

describe('the judgement', () => {
  test('finds nothing wrong when affected operations are refused during the fault and recover', () => {
    expect(judge([refused, ...recovered], FAULT)).toMatchObject({
      requests: 12,
      good: 11,
      refused: 1,
      wrong: [],
      firstGoodSeconds: 0.21,
      slowestSeconds: 0.11,
    })
  })

  test.for<[string, Partial<Entry>, string]>([
    ['an answer that is wrong by itself', { outcome: 'wrong', why: '500' }, 'register: 500 (1)'],
    [
      'a refusal of what needs nothing that failed',
      { operation: 'jwks', outcome: 'refused' },
      'jwks: refused although it needs nothing that failed (1)',
    ],
    [
      'a refusal by the other app',
      { operation: 'join', outcome: 'refused' },
      'join: refused although it needs nothing that failed (1)',
    ],
    [
      'a refusal before the fault',
      { outcome: 'refused', startedAt: 10, endedAt: 20 },
      'register: refused before the fault (1)',
    ],
    [
      'a refusal long after it',
      { outcome: 'refused', startedAt: 8_001, endedAt: 8_002 },
      'register: refused more than 5 s after the fault (1)',
    ],
    ['an answer that took long', { endedAt: 9_001 }, 'register: answered after more than 5 s (1)'],
    [
      'a refusal that took long',
      { outcome: 'refused', endedAt: 9_001 },
      'register: answered after more than 5 s (1)',
    ],
  ])('finds %s', ([, more, found]) => {
    expect(wrongOf(entry(more))).toEqual([found])
  })

  test('permits a refusal that began before the fault and ended during it, and one shortly after it', () => {
    expect(
      wrongOf(
        entry({ outcome: 'refused', startedAt: 990, endedAt: 1_001 }),
        entry({ outcome: 'refused', startedAt: 7_999, endedAt: 8_010 }),
      ),
    ).toEqual([])
  })

  test('excuses only refusals after a time-out, during a stall and shortly after it', () => {
    const slow = entry({ operation: 'join', outcome: 'refused', startedAt: 2_500, endedAt: 2_700 })
    const stalls = [{ from: 1_500, to: 1_700 }]
    const during = entry({ operation: 'join', outcome: 'refused', startedAt: 1_650, endedAt: 1_900 })
    const after = entry({ operation: 'join', outcome: 'refused', startedAt: 2_001, endedAt: 2_010 })
    const wrong = entry({ operation: 'join', outcome: 'wrong', why: '500', startedAt: 1_650, endedAt: 1_660 })
    const many = Array.from({ length: 50 }, () => entry({ operation: 'join' }))
    expect(
      judge([refused, ...recovered, ...many, slow, during, after, wrong], { ...FAULT, stalls }),
    ).toMatchObject({
      excused: 2,
      wrong: ['join: refused although it needs nothing that failed (1)', 'join: 500 (1)'],
    })
  })

  test('excuses few refusals, but not many', () => {
    const slow = entry({ operation: 'join', outcome: 'refused', startedAt: 2_500, endedAt: 2_700 })
    expect(wrongOf(slow)).toEqual(['1 refusals after a time-out of what needs nothing that failed'])
  })

  test('finds that a fault had no effect', () => {
    expect(judge(recovered, FAULT).wrong).toEqual(['register: never refused, so the fault was none'])
  })

  test('finds that an operation never recovered, and ignores requests from before the end of the fault', () => {
    const [register, ...others] = recovered
    const early = { ...register!, startedAt: 2_999 }
    const judgement = judge([refused, early, ...others], FAULT)
    expect(judgement.wrong).toEqual(['register: no good answer after the fault'])
    expect(judgement.firstGoodSeconds).toBeUndefined()
  })

  test('reports how long refused requests waited', () => {
    const waited = [10, 20, 900].map((ms) => entry({ outcome: 'refused', endedAt: 2_000 + ms }))
    expect(judge([...waited, ...recovered], FAULT).shedSeconds).toEqual({ half: 0.02, all: 0.9 })
    expect(judge(recovered, { ...FAULT, refuses: [] }).shedSeconds).toBeUndefined()
  })

  test('limits the share of refusals and the time until recovery if the fault specifies them', () => {
    const late = entry({ outcome: 'refused', startedAt: 9_000, endedAt: 9_010 })
    const entries = [refused, ...recovered, late]
    expect(judge(entries, FAULT).wrong).toEqual(['register: refused more than 5 s after the fault (1)'])
    expect(judge(entries, { ...FAULT, graceMs: 10_000 }).wrong).toEqual([])
    expect(judge(entries, { ...FAULT, graceMs: 10_000, maxRefusedShare: 0.1 }).wrong).toEqual([
      '2 of 13 refused',
    ])
  })

  test('permits refusals up to its share for a fault that is itself load', () => {
    const load = { ...FAULT, parts: [], refuses: [], maxShedShare: 0.5 }
    const shed = entry({ operation: 'token', outcome: 'refused' })
    const good = entry({ operation: 'token' })
    expect(judge([shed, good], load).wrong).toEqual([])
    expect(judge([shed, shed, good], load).wrong).toHaveLength(1)
    expect(judge([shed, good], { ...load, maxShedShare: undefined }).wrong).not.toEqual([])
    expect(
      judge([entry({ operation: 'token', outcome: 'wrong', why: 'it is still active' }), good], load).wrong,
    ).toEqual(['token: it is still active (1)'])
  })
})
