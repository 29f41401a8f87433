import { readMemory } from '../load/processor-time.ts'
import type { Comparison, MeasuredPath } from '../measured-paths.ts'
import { writeResult } from '../report/write-result.ts'
import { runRounds } from '../run-rounds.ts'
import { describeMachine } from '../testbed/machine.ts'
import type { Stores } from '../testbed/open-stores.ts'
import type { MeasuredApp } from '../testbed/start-measured-app.ts'
import { fillPostgres, fillRedis, readSizes } from './fill-stores.ts'
import { CONTROL, type Level, renderGrowth } from './render-growth.ts'

const LEVELS = [1_000, 100_000, 1_000_000]

/** Measures the same requests of the same agents at each level, while the rows of other agents fill the stores. */
export async function runGrowth(
  parts: {
    stores: Stores
    auth: MeasuredApp
    api: MeasuredApp
    paths: readonly MeasuredPath[]
    /** A server without stores, whose figures show whether the machine became slower between levels. */
    control: Comparison
  },
  options: {
    rounds: number
    seconds: number
    /** True to write the result to `bench/results`. */
    shouldStore: boolean
    now: Date
    print: (line: string) => void
    signal: AbortSignal
  },
): Promise<void> {
  const { stores, auth, api } = parts
  const { print, now } = options
  // Without baselines: each path is compared with itself at the first level.
  const paths = [
    ...parts.paths.map((each) => ({ ...each, comparisons: [] })),
    {
      name: CONTROL,
      title: CONTROL,
      boundBy: 'server' as const,
      ours: parts.control.target,
      comparisons: [],
    },
  ]
  const levels: Level[] = []
  for (const rows of LEVELS) {
    print(`Filling the stores up to ${rows.toLocaleString('en')} agents, tokens and entries`)
    await fillPostgres(stores.adminUrls, rows)
    const existingTokens = levels.at(-1)?.rows ?? 0
    const redis = await fillRedis(stores.redis.adminUrl, { existingTokens, tokens: rows, now })
    const sizes = await readSizes(stores.adminUrls)
    const series = await runRounds(paths, options)
    const memory = {
      auth: readMemory(auth.pid).now,
      resource: readMemory(api.pid).now,
      redis: readMemory(stores.redis.child.pid ?? 0).now,
    }
    levels.push({ rows, series, memory, redis, sizes })
  }
  const markdown = renderGrowth({ machine: describeMachine(), date: now, ...options, levels })
  print(`\n${markdown}`)
  if (options.shouldStore) await writeResult('-growth', levels, { markdown, date: now, print })
}
