import { describe, expect, test } from 'vitest'
import { areSteady, findFault, type Measurement, type PathCosts, type PathSeries } from '../run-rounds.ts'
import { computeFigures, judgeAgainst, judgeAll, judgeMemory, judgeRevocations } from './judge.ts'

const LATENCY = { p50: 1, p99: 2, most: 3 }

/** @param perSecond the throughput of a server that keeps one core busy */
function createMeasurement(perSecond: number, overrides: Partial<Measurement> = {}): Measurement {
  return {
    saturation: { perSecond, errors: 0, processorMicros: 1e6 / perSecond, targetBusy: 1, generatorBusy: 0.3 },
    arrivals: { rate: perSecond * 0.6, answered: 100, errors: 0, latency: LATENCY, lag: LATENCY },
    isLate: false,
    ...overrides,
  }
}

const target = { port: 0, pid: 0, next: () => Buffer.alloc(0), status: 200 }

const createSeries = (name: string, ours: Measurement[], theirs: Measurement[]): PathSeries => ({
  path: {
    name,
    title: name,
    boundBy: 'server',
    ours: target,
    comparisons: [{ baseline: 'koa-bare', target, atLeast: 0.7 }],
  },
  ours: { name: 'ours', rounds: ours, isSteady: true },
  baselineSeries: [{ name: 'koa-bare', rounds: theirs, isSteady: true }],
})

describe('a target', () => {
  test('is met if the median of the ratios reaches it', () => {
    const theirs = [1000, 2000, 1000].map((perSecond) => createMeasurement(perSecond))
    const atTarget = [800, 1400, 100].map((perSecond) => createMeasurement(perSecond))
    expect(judgeAll([createSeries('guides', atTarget, theirs)], true)).toMatchObject([
      { isMet: true, measured: '0.70 (0.10–0.80)' },
    ])
    const belowTarget = [800, 1380, 100].map((perSecond) => createMeasurement(perSecond))
    expect(judgeAll([createSeries('guides', belowTarget, theirs)], true)).toMatchObject([{ isMet: false }])
  })

  test('is judged by processor time, and the verdict also shows the ratio of throughputs', () => {
    // A server that mostly waits: a tenth of the baseline's throughput, but only 1.25 times its processor time.
    const waiting = { perSecond: 100, errors: 0, processorMicros: 1_250, targetBusy: 0.1, generatorBusy: 0.3 }
    expect(
      judgeAll(
        [
          createSeries(
            'guides',
            [createMeasurement(100, { saturation: waiting })],
            [createMeasurement(1000)],
          ),
        ],
        true,
      ),
    ).toMatchObject([{ isMet: true, measured: '0.80 (0.80–0.80)', throughput: '0.10 (0.10–0.10)' }])
  })

  test('is not met, and has no figure, if one round is invalid', () => {
    const fault = { kind: 'errors', description: '3 errors' } as const
    const guides = createSeries(
      'guides',
      [createMeasurement(900), createMeasurement(900, { fault })],
      [createMeasurement(1000), createMeasurement(1000)],
    )
    expect(judgeAll([guides], true)).toMatchObject([{ isMet: false, measured: 'no figure: 3 errors' }])
  })

  test('is also judged by rounds in which the generator was late, but their latency is left out', () => {
    const late = [
      createMeasurement(900, { isLate: true }),
      createMeasurement(900, { isLate: true }),
      createMeasurement(900),
    ]
    const guides = createSeries(
      'guides',
      late,
      [1000, 1000, 1000].map((perSecond) => createMeasurement(perSecond)),
    )
    expect(judgeAll([guides], true)).toMatchObject([{ isMet: true }])
    expect(computeFigures(guides.ours)).toMatchObject({ latency: undefined })
    expect(computeFigures({ rounds: late.slice(1) })).toMatchObject({
      latency: { rounds: 1, p99: { median: 2 } },
    })
  })

  test('is not met without a cache if the path or the revocations need one', () => {
    const cachedPath = createSeries('guide-bearer', [createMeasurement(900)], [createMeasurement(1000)])
    expect(judgeAll([cachedPath], true)).toMatchObject([{ isMet: true }])
    expect(judgeAll([cachedPath], false)).toMatchObject([{ isMet: false }])
    const revocations = [{ arrivals: createMeasurement(50).arrivals }]
    expect(judgeRevocations(revocations, true)).toMatchObject({ isMet: true })
    expect(judgeRevocations(revocations, false)).toMatchObject({ isMet: false })
    expect(judgeRevocations([], true)).toMatchObject({ isMet: false })
  })

  test('is met for memory if both figures are below their targets', () => {
    const createMemory = (idle: number, underLoad: number) => ({
      auth: { idle: idle * 1024 ** 2, underLoad: underLoad * 1024 ** 2 },
    })
    expect(judgeMemory(createMemory(119, 249))).toMatchObject([{ isMet: true }])
    expect(judgeMemory(createMemory(120, 249))).toMatchObject([{ isMet: false }])
    expect(judgeMemory(createMemory(119, 250))).toMatchObject([{ isMet: false }])
  })
})

describe('the comparison with another commit', () => {
  const createCost = (processorMicros: number, errors = 0) => ({
    expectedResponses: 1_000,
    errors,
    processorMicros,
  })
  const createComparison = (ours: ReturnType<typeof createCost>[]): PathCosts => ({
    path: createSeries('token', [], []).path,
    rounds: ours.map((round, index) => ({
      ours: round,
      other: createCost([100, 200, 100][index] ?? Number.NaN),
    })),
  })

  test('meets the target if the median ratio of processor time is at most 1.03', () => {
    const atLimit = [103, 190, 150].map((micros) => createCost(micros))
    expect(judgeAgainst([createComparison(atLimit)], '1a2b3c4')).toMatchObject([
      { isMet: true, against: '`1a2b3c4`, CPU µs per response', measured: '1.03 (0.95–1.50)' },
    ])
    const slower = [104, 190, 150].map((micros) => createCost(micros))
    expect(judgeAgainst([createComparison(slower)], '1a2b3c4')).toMatchObject([{ isMet: false }])
  })

  test('has no figure if a request failed', () => {
    expect(judgeAgainst([createComparison([createCost(100, 3)])], '1a2b3c4')).toMatchObject([
      { isMet: false, measured: 'no figure: 3 errors' },
    ])
  })
})

/** The difference between the largest and the smallest of the last three costs must be at most 5 % of their median. */
test.for([
  [[100, 100], false],
  [[100, 100, 100], true],
  [[371, 659, 400, 100, 102, 104], true],
  [[100, 100, 106], false],
] as const)('%s µs are steady: %s', ([costs, isSteady]) => {
  expect(areSteady(costs)).toBe(isSteady)
})

describe('the kind of fault of a measurement', () => {
  const faultless = createMeasurement(1000)
  test.for([
    [
      'is `errors` after an error under saturation',
      { saturation: { ...faultless.saturation, errors: 1 } },
      'server',
      'errors',
    ],
    [
      'is `errors` after an error at a fixed rate',
      { arrivals: { ...faultless.arrivals, errors: 1 } },
      'server',
      'errors',
    ],
    [
      'is `errors` if no request got a response',
      { arrivals: { ...faultless.arrivals, answered: 0 } },
      'server',
      'errors',
    ],
    [
      'is `generator` if the generator was busy and the server was not',
      { saturation: { ...faultless.saturation, targetBusy: 0.5, generatorBusy: 0.95 } },
      'server',
      'generator',
    ],
    [
      'is undefined if a store limits the path, because the store runs on the core of the generator',
      { saturation: { ...faultless.saturation, targetBusy: 0.5, generatorBusy: 0.95 } },
      'store',
      undefined,
    ],
    ['is undefined otherwise', {}, 'server', undefined],
  ] as const)('%s', ([_expectation, change, boundBy, kind]) => {
    expect(findFault({ ...faultless, ...change }, boundBy)?.kind).toBe(kind)
  })
})
