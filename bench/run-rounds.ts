import {
  type ProcessorCost,
  RUN_UP_SECONDS,
  type Saturation,
  saturate,
  saturateInTurns,
} from './load/closed-loop.ts'
import { type Arrivals, arrive } from './load/open-loop.ts'
import type { Target } from './load/target.ts'
import type { MeasuredPath } from './measured-paths.ts'

/** One target in one round: its throughput, and its latency at 60 % of that throughput. */
export interface Measurement {
  readonly saturation: Saturation
  readonly arrivals: Arrivals
  /** The reason why the measurement is invalid. */
  readonly fault?: Fault
  /** True if the generator was late. Then only the latency is invalid. */
  readonly isLate: boolean
}

interface Fault {
  /** `errors` invalidate the figure; a generator that was too slow invalidates only this attempt. */
  readonly kind: 'errors' | 'generator'
  readonly what: string
}

const SHARE_OF_SATURATION = 0.6
/** With a longer delay, the generator would measure itself. */
const MAX_LAG_MS = 5
const MAX_ATTEMPTS = 3

/** Measures a target, and repeats the measurement at most twice if the generator was too slow. */
async function measure(
  target: Target,
  { seconds, boundBy }: { seconds: number; boundBy: 'server' | 'store' },
): Promise<Measurement> {
  let measurement: Measurement | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    await target.prepare?.(seconds + RUN_UP_SECONDS)
    const saturation = await saturate(target, seconds)
    const rate = Math.max(1, saturation.perSecond * SHARE_OF_SATURATION)
    await target.prepare?.(seconds)
    const arrivals = await arrive(target, { rate, seconds })
    const fault = findFault({ saturation, arrivals }, boundBy)
    measurement = { saturation, arrivals, isLate: isLate(arrivals), ...(fault && { fault }) }
    if (fault?.kind !== 'generator') break
  }
  if (!measurement) throw new Error('nothing was measured')
  return measurement
}

/** Returns why a measurement is invalid; undefined when it is valid. */
export function findFault(
  { saturation, arrivals }: Pick<Measurement, 'saturation' | 'arrivals'>,
  boundBy: 'server' | 'store',
): Fault | undefined {
  const errors = saturation.errors + arrivals.errors
  if (errors > 0 || arrivals.answered === 0) return { kind: 'errors', what: `${errors} errors` }
  const { targetBusy, generatorBusy } = saturation
  if (boundBy === 'server' && targetBusy < 0.9 && generatorBusy > 0.85) {
    return {
      kind: 'generator',
      what: `the generator was the slower one (server ${formatPercent(targetBusy)} busy)`,
    }
  }
  return undefined
}

/** Returns whether the generator was late, so that the latencies are invalid. */
export const isLate = ({ lag }: Arrivals) => lag.p99 > MAX_LAG_MS

const formatPercent = (share: number) => `${Math.round(share * 100)} %`

/** All rounds of one target. */
export interface Series {
  /** `ours`, or the name of a baseline. */
  readonly name: string
  readonly rounds: readonly Measurement[]
}

export interface PathSeries {
  readonly path: MeasuredPath
  readonly ours: Series
  readonly beside: readonly Series[]
}

const WARM_UP_SECONDS = 2

/**
 * Measures the targets of each path one after another, in alternating order round by round, so that changes of the machine affect
 * all of them alike.
 */
export async function runRounds(
  paths: readonly MeasuredPath[],
  options: { rounds: number; seconds: number; print: (line: string) => void; signal: AbortSignal },
): Promise<PathSeries[]> {
  const { rounds, seconds, print, signal } = options
  const pathRounds = paths.map((path) => ({
    path,
    boundBy: path.boundBy,
    targets: [
      {
        name: 'ours',
        target: path.ours,
        cleanUp: path.cleanUp,
        rounds: [] as Measurement[],
      },
      ...path.beside.map(({ baseline, target, cleanUp }) => ({
        name: baseline as string,
        target,
        cleanUp,
        rounds: [] as Measurement[],
      })),
    ],
  }))
  for (const { path, targets } of pathRounds) {
    for (const { name, target, cleanUp } of targets) {
      await warmUp(target, `${path.name} ${name}`, print)
      await cleanUp?.()
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { path, boundBy, targets } of pathRounds) {
      for (const each of round % 2 === 0 ? targets.toReversed() : targets) {
        signal.throwIfAborted()
        const measurement = await measure(each.target, { seconds, boundBy })
        await each.cleanUp?.()
        each.rounds.push(measurement)
        print(formatProgress(`${round}/${rounds}  ${path.name} ${each.name}`, measurement))
      }
    }
  }
  return pathRounds.map(({ path, targets }) => {
    const [ours, ...beside] = targets.map(({ name, rounds: measured }) => ({ name, rounds: measured }))
    if (!ours) throw new Error('a path has no target')
    return { path, ours, beside }
  })
}

/** The processor costs of a path in each round, in this work tree and at the other commit. */
export interface PathCosts {
  readonly path: MeasuredPath
  readonly rounds: readonly { readonly ours: ProcessorCost; readonly before: ProcessorCost }[]
}

/** Compares each path, round by round, with its only baseline: the same path at another commit. */
export async function runRoundsInTurns(
  paths: readonly MeasuredPath[],
  options: { rounds: number; seconds: number; print: (line: string) => void; signal: AbortSignal },
): Promise<PathCosts[]> {
  const { rounds, seconds, print, signal } = options
  const pathRounds = paths.map((path) => ({ path, rounds: [] as PathCosts['rounds'][number][] }))
  for (const { path } of pathRounds) {
    for (const { target, cleanUp } of listTurns(path)) {
      await warmUp(target, path.name, print)
      await cleanUp?.()
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { path, rounds: measured } of pathRounds) {
      signal.throwIfAborted()
      const [first, second] = listTurns(path)
      const [ours, before] = await saturateInTurns([first.target, second.target], seconds)
      for (const { cleanUp } of [first, second]) await cleanUp?.()
      measured.push({ ours, before })
      const micros = [ours, before].map(
        ({ processorMicros }) => `${processorMicros.toFixed(0).padStart(5)} µs`,
      )
      print(`${`${round}/${rounds}`.padEnd(8)}${path.name.padEnd(14)}ours ${micros[0]}  before ${micros[1]}`)
    }
  }
  return pathRounds
}

/** Joins the rounds of the same paths that were measured after different starts. */
export function joinCosts(costs: readonly PathCosts[]): PathCosts[] {
  const byPath = Map.groupBy(costs, ({ path }) => path.name)
  return [...byPath.values()].flatMap(([first, ...more]) =>
    first ? [{ path: first.path, rounds: [first, ...more].flatMap(({ rounds }) => rounds) }] : [],
  )
}

/** Returns our target and the target of the other commit. */
function listTurns({ ours, cleanUp, beside: [before] }: MeasuredPath) {
  if (!before) throw new Error('a path has no target at the other commit')
  return [{ target: ours, cleanUp }, before] as const
}

async function warmUp(target: Target, name: string, print: (line: string) => void): Promise<void> {
  await target.prepare?.(WARM_UP_SECONDS + RUN_UP_SECONDS)
  const { errors } = await saturate(target, WARM_UP_SECONDS)
  print(`warm  ${name}${errors > 0 ? `  ${errors} errors` : ''}`)
}

function formatProgress(name: string, measurement: Measurement): string {
  const { saturation, arrivals, fault } = measurement
  const { perSecond, targetBusy, generatorBusy, processorMicros } = saturation
  return [
    name.padEnd(34),
    `${perSecond.toFixed(0).padStart(6)}/s`,
    `${processorMicros.toFixed(0).padStart(5)} µs`,
    `server ${formatPercent(targetBusy)}, generator ${formatPercent(generatorBusy)}`,
    `p50 ${arrivals.latency.p50.toFixed(1)} p99 ${arrivals.latency.p99.toFixed(1)} ms`,
    `lag p99 ${arrivals.lag.p99.toFixed(1)} ms`,
    ...(fault ? [`VOID: ${fault.what}`] : measurement.isLate ? ['no latency: the generator was late'] : []),
  ].join('  ')
}
