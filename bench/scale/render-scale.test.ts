import { describe, expect, test } from 'vitest'
import type { InstanceSeries, LoadUsage } from './measure-load.ts'
import { compareWithOneInstance, renderScale } from './render-scale.ts'
import type { RevocationSeries } from './revocations-by-apis.ts'

/** With 1,000 responses, the milliseconds of a part are also its microseconds per response. */
const createUsage = (overrides: Partial<LoadUsage> = {}): LoadUsage => ({
  seconds: 2,
  expectedResponses: 1_000,
  errors: 0,
  processorMs: { auth: 10, api: 60, gateway: 20, redis: 5, postgres: 5 },
  commands: { evalsha: 500, get: 250, hget: 250 },
  ...overrides,
})

/** @param costs the processor time of a response in each round, in microseconds */
const createSeries = (
  instances: number,
  costs: readonly number[],
  overrides: Partial<LoadUsage> = {},
): InstanceSeries => ({
  name: 'guides',
  title: 'guides',
  instances,
  rounds: costs.map((micros) =>
    createUsage({ processorMs: { auth: 0, api: micros, gateway: 0, redis: 0, postgres: 0 }, ...overrides }),
  ),
})

const createRevocations = (
  apiCount: number,
  p99: number,
  overrides: Partial<RevocationSeries['rounds'][number]> = {},
) => ({
  apiCount,
  rounds: [
    {
      arrivals: {
        rate: 50,
        answered: 100,
        errors: 0,
        latency: { p50: 4, p99, most: p99 },
        lag: { p50: 0, p99: 0, most: 0 },
      },
      usage: createUsage({ commands: { eval: 300, hget: 600 } }),
      ...overrides,
    },
  ],
})

const render = (paths: readonly InstanceSeries[], revocationSeries: readonly RevocationSeries[] = []) =>
  renderScale({
    machine: { cores: 2, processor: 'a processor', memoryGb: 8, node: 'v24.0.0', platform: 'linux x64' },
    date: new Date('2026-11-26'),
    rounds: 1,
    seconds: 2,
    stacks: [{ instances: 1, idle: createUsage(), memory: 300 * 1024 ** 2 }],
    paths,
    limitSimulations: [
      { readsPerMinute: 6, apis: 2, callsPerRead: 1.333, waitingShare: 0.5, refusedShare: 0 },
      { readsPerMinute: 120, apis: 2, callsPerRead: 0.34, waitingShare: 0.11, refusedShare: 0.044 },
    ],
    revocations: revocationSeries,
  }).split('\n')

describe('the cost at several instances', () => {
  test('is compared with that at one instance in the same round', () => {
    const one = createSeries(1, [100, 200, 100])
    const four = createSeries(4, [150, 220, 120])
    expect(compareWithOneInstance(four, [one, four])).toEqual({ median: 1.2, least: 1.1, most: 1.5 })
  })

  test('meets the target if the median ratio is at most 1.25', () => {
    const one = createSeries(1, [100, 100, 100])
    expect(render([one, createSeries(4, [125, 125, 200])])).toContain(
      '| guides | 4 | 500 (500–500) | 125 (125–200) | 1.25 (1.25–2.00) | yes |',
    )
    expect(render([one, createSeries(4, [126, 126, 100])])).toContain(
      '| guides | 4 | 500 (500–500) | 126 (100–126) | 1.26 (1.00–1.26) | **no** |',
    )
  })

  test('has no figure if a request of the path failed at any number of instances', () => {
    const lines = render([createSeries(1, [100]), createSeries(4, [100], { errors: 2 })])
    expect(lines).toContain('| guides | 1 | no figure: 2 errors |  |  | **no** |')
    expect(lines).toContain('| guides | 4 | no figure: 2 errors |  |  | **no** |')
  })

  test('is given for each part, with the scripts and commands of Redis for one response', () => {
    const paths = [{ name: 'guides', title: 'guides', instances: 1, rounds: [createUsage()] }]
    expect(render(paths)).toContain('| guides | 1 | 10 | 60 | 20 | 5 | 5 | 0.50 | 1.00 |')
  })
})

test('the processor time that a stack uses without requests is given for each second', () => {
  expect(render([])).toContain('| 1 | 5.0 | 30.0 | 10.0 | 2.5 | 2.5 | 50.0 | 300 |')
})

test('the simulations of limits have a row for each number of APIs, and a column for each rate', () => {
  expect(render([])).toContain('| 2 | 1.33, 50 %, 0 % | 0.34, 11 %, 4 % |')
})

describe('revocations', () => {
  test('meet the target if the p99 is under 20 ms', () => {
    expect(render([], [createRevocations(2, 19.9)])).toContain(
      '| 2 | 4.0 (4.0–4.0) | 19.9 (19.9–19.9) | yes | 3.0 | 9.0 | 100 | 50 | 300 |',
    )
    expect(render([], [createRevocations(2, 20)]).join()).toContain('| 20.0 (20.0–20.0) | **no** |')
  })

  test('do not meet the target, and have no figure, if the generator was late or a request failed', () => {
    const late = { kind: 'generator', description: 'the generator was late' } as const
    expect(render([], [createRevocations(2, 5, { fault: late })]).join()).toContain(
      '| no figure: the generator was late | **no** |',
    )
    const failed = { kind: 'errors', description: '3 errors' } as const
    expect(render([], [createRevocations(2, 5, { fault: failed })]).join()).toContain(
      '| no figure: 3 errors | **no** |',
    )
  })
})
