import { describe, expect, test } from 'vitest'
import type { PathSeries } from '../run-rounds.ts'
import { findFault, type Measurement } from '../run-rounds.ts'
import { computeFigures, judgeAgainst, judgeAll, memoryVerdicts, revocationVerdict } from './judge.ts'

const LATENCY = { p50: 1, p99: 2, most: 3 }

function measurement(perSecond: number, change: Partial<Measurement> = {}): Measurement {
  return {
    saturation: { perSecond, errors: 0, processorMicros: 100, targetBusy: 1, generatorBusy: 0.3 },
    arrivals: { rate: perSecond * 0.6, answered: 100, errors: 0, latency: LATENCY, lag: LATENCY },
    isLate: false,
    ...change,
  }
}

const target = { port: 0, pid: 0, next: () => Buffer.alloc(0), status: 200 }

const measured = (name: string, ours: Measurement[], theirs: Measurement[]): PathSeries => ({
  path: {
    name,
    title: name,
    boundBy: 'server',
    ours: target,
    beside: [{ baseline: 'koa-bare', target, atLeast: 0.7 }],
  },
  ours: { name: 'ours', rounds: ours },
  beside: [{ name: 'koa-bare', rounds: theirs }],
})

describe('a target', () => {
  test('is held when the median of the ratios reaches it', () => {
    const theirs = [1000, 2000, 1000].map((each) => measurement(each))
    const held = [800, 1400, 100].map((each) => measurement(each))
    expect(judgeAll([measured('guides', held, theirs)], true)).toMatchObject([
      { held: true, measured: '0.70 (0.10–0.80)' },
    ])
    const missed = [800, 1380, 100].map((each) => measurement(each))
    expect(judgeAll([measured('guides', missed, theirs)], true)).toMatchObject([{ held: false }])
  })

  test('has no figure, and is not held, when one round is invalid', () => {
    const fault = { kind: 'errors', what: '3 errors' } as const
    const series = measured(
      'guides',
      [measurement(900), measurement(900, { fault })],
      [measurement(1000), measurement(1000)],
    )
    expect(judgeAll([series], true)).toMatchObject([{ held: false, measured: 'no figure: 3 errors' }])
  })

  test('is judged when the generator was late, which invalidates only the latency', () => {
    const late = [measurement(900, { isLate: true }), measurement(900, { isLate: true }), measurement(900)]
    const series = measured(
      'guides',
      late,
      [1000, 1000, 1000].map((each) => measurement(each)),
    )
    expect(judgeAll([series], true)).toMatchObject([{ held: true }])
    expect(computeFigures(series.ours)).toMatchObject({ latency: undefined })
    expect(computeFigures({ rounds: late.slice(1) })).toMatchObject({
      latency: { rounds: 1, p99: { median: 2 } },
    })
  })

  test('for a cached path is not held without a cache', () => {
    const series = measured('guide-bearer', [measurement(900)], [measurement(1000)])
    expect(judgeAll([series], true)).toMatchObject([{ held: true }])
    expect(judgeAll([series], false)).toMatchObject([{ held: false }])
    const revocations = [{ arrivals: measurement(50).arrivals }]
    expect(revocationVerdict(revocations, true)).toMatchObject({ held: true })
    expect(revocationVerdict(revocations, false)).toMatchObject({ held: false })
    expect(revocationVerdict([], true)).toMatchObject({ held: false })
  })

  test('for memory is held when both figures are below it', () => {
    const megabytes = (idle: number, underLoad: number) => ({
      auth: { idle: idle * 1024 ** 2, underLoad: underLoad * 1024 ** 2 },
    })
    expect(memoryVerdicts(megabytes(119, 249))).toMatchObject([{ held: true }])
    expect(memoryVerdicts(megabytes(120, 249))).toMatchObject([{ held: false }])
    expect(memoryVerdicts(megabytes(119, 250))).toMatchObject([{ held: false }])
  })
})

describe('another commit', () => {
  const micros = (each: number) =>
    measurement(1000, {
      saturation: {
        perSecond: 1000,
        errors: 0,
        processorMicros: each,
        targetBusy: 1,
        generatorBusy: 0.3,
      },
    })
  const before = [100, 200, 100].map(micros)

  test('is judged by the median ratio of processor time', () => {
    const same = [103, 190, 150].map(micros)
    expect(judgeAgainst([measured('token', same, before)], '1a2b3c4')).toMatchObject([
      { held: true, against: '`1a2b3c4`, µs of processor', measured: '1.03 (0.95–1.50)' },
    ])
    const slower = [104, 190, 150].map(micros)
    expect(judgeAgainst([measured('token', slower, before)], '1a2b3c4')).toMatchObject([{ held: false }])
  })

  test('has no figure when a round is invalid', () => {
    const broken = measurement(900, { fault: { kind: 'errors', what: '3 errors' } })
    expect(judgeAgainst([measured('token', [broken], [micros(100)])], '1a2b3c4')).toMatchObject([
      { held: false, measured: 'no figure: 3 errors' },
    ])
  })
})

describe('a measurement is invalid', () => {
  const fine = measurement(1000)
  test.for([
    [
      'after an error under saturation',
      { saturation: { ...fine.saturation, errors: 1 } },
      'server',
      'errors',
    ],
    ['after an error at a rate', { arrivals: { ...fine.arrivals, errors: 1 } }, 'server', 'errors'],
    ['without an answer', { arrivals: { ...fine.arrivals, answered: 0 } }, 'server', 'errors'],
    [
      'when the generator was the slower one',
      { saturation: { ...fine.saturation, targetBusy: 0.5, generatorBusy: 0.95 } },
      'server',
      'generator',
    ],
    [
      'but a store on the same core may be what is slow',
      { saturation: { ...fine.saturation, targetBusy: 0.5, generatorBusy: 0.95 } },
      'store',
      undefined,
    ],
    ['else it does', {}, 'server', undefined],
  ] as const)('%s', ([_why, change, boundBy, kind]) => {
    expect(findFault({ ...fine, ...change }, boundBy)?.kind).toBe(kind)
  })
})
