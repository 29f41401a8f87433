import {
  type ProcessorCost,
  RUN_UP_SECONDS,
  type Saturation,
  saturate,
  saturateInTurns,
} from './load/closed-loop.ts'
import { type Arrivals, sendAtRate } from './load/open-loop.ts'
import { summarizeSpread } from './load/quantiles.ts'
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
  /** After `generator`, the measurement is repeated, and only the last attempt counts. After `errors`, it is not repeated. */
  readonly kind: 'errors' | 'generator'
  readonly description: string
}

const SHARE_OF_SATURATION = 0.6
/** If the generator's own delay were longer, the latencies would mostly measure the generator. */
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
    const arrivals = await sendAtRate(target, { rate, seconds })
    const fault = findFault({ saturation, arrivals }, boundBy)
    measurement = { saturation, arrivals, isLate: isLate(arrivals), ...(fault && { fault }) }
    if (fault?.kind !== 'generator') break
  }
  if (!measurement) throw new Error('nothing was measured')
  return measurement
}

/** Returns why a measurement is invalid; undefined if it is valid. */
export function findFault(
  { saturation, arrivals }: Pick<Measurement, 'saturation' | 'arrivals'>,
  boundBy: 'server' | 'store',
): Fault | undefined {
  const errors = saturation.errors + arrivals.errors
  if (errors > 0 || arrivals.answered === 0) return { kind: 'errors', description: `${errors} errors` }
  const { targetBusy, generatorBusy } = saturation
  // The generator used nearly a whole core, while the server did not.
  if (boundBy === 'server' && targetBusy < 0.9 && generatorBusy > 0.85) {
    return {
      kind: 'generator',
      description: `the generator was the slower one (server ${formatPercent(targetBusy)} busy)`,
    }
  }
  return undefined
}

/** Returns whether the generator was so late that the latencies are invalid. */
export const isLate = ({ lag }: Arrivals) => lag.p99 > MAX_LAG_MS

const formatPercent = (share: number) => `${Math.round(share * 100)} %`

/** All rounds of one target. */
export interface Series {
  /** `ours`, or the name of a baseline. */
  readonly name: string
  readonly rounds: readonly Measurement[]
  /** False if the processor time still changed when the rounds began. */
  readonly isSteady: boolean
}

export interface PathSeries {
  readonly path: MeasuredPath
  readonly ours: Series
  /** One series for each baseline of the path. */
  readonly baselineSeries: readonly Series[]
}

const WARM_UP_SECONDS = 1
const MAX_WARM_UPS = 8
/** How long both targets of a comparison are loaded in turns before the first round. */
const WARM_UP_IN_TURNS_SECONDS = 2
/** Costs are steady if the last three differ by at most this share of their median. */
const MAX_STEADY_SPREAD = 0.05

/**
 * Measures the targets of each path one after another. The order alternates from round to round, so changes in the machine's speed
 * affect all targets alike.
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
        isSteady: false,
      },
      ...path.comparisons.map(({ baseline, target, cleanUp }) => ({
        name: baseline as string,
        target,
        cleanUp,
        rounds: [] as Measurement[],
        isSteady: false,
      })),
    ],
  }))
  for (const { path, targets } of pathRounds) {
    for (const each of targets) {
      each.isSteady = await warmUp(each.target, `${path.name} ${each.name}`, print)
      await each.cleanUp?.()
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
    const [ours, ...baselineSeries] = targets.map(({ name, rounds: measured, isSteady }) => ({
      name,
      rounds: measured,
      isSteady,
    }))
    if (!ours) throw new Error('a path has no target')
    return { path, ours, baselineSeries }
  })
}

/** The processor costs of a path in each round, in this work tree and at the other commit. */
export interface PathCosts {
  readonly path: MeasuredPath
  readonly rounds: readonly { readonly ours: ProcessorCost; readonly other: ProcessorCost }[]
}

/** Compares each path, round by round, with its only baseline: the same path at another commit. */
export async function runRoundsInTurns(
  paths: readonly MeasuredPath[],
  options: { rounds: number; seconds: number; print: (line: string) => void; signal: AbortSignal },
): Promise<PathCosts[]> {
  const { rounds, seconds, print, signal } = options
  const pathRounds = paths.map((path) => ({ path, rounds: [] as PathCosts['rounds'][number][] }))
  const takeRound = async (path: MeasuredPath, roundSeconds: number) => {
    const targets = listTargets(path)
    const costs = await saturateInTurns([targets[0].target, targets[1].target], roundSeconds)
    for (const { cleanUp } of targets) await cleanUp?.()
    return costs
  }
  for (const { path } of pathRounds) {
    for (const { target, cleanUp } of listTargets(path)) {
      await warmUp(target, path.name, print)
      await cleanUp?.()
    }
    // Our target was idle while the other one warmed up. Without this, the first round finds it more expensive, by a sixth for answers.
    await takeRound(path, WARM_UP_IN_TURNS_SECONDS)
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { path, rounds: measured } of pathRounds) {
      signal.throwIfAborted()
      const [ours, other] = await takeRound(path, seconds)
      measured.push({ ours, other })
      const micros = [ours, other].map(
        ({ processorMicros }) => `${processorMicros.toFixed(0).padStart(5)} µs`,
      )
      print(`${`${round}/${rounds}`.padEnd(8)}${path.name.padEnd(14)}ours ${micros[0]}  other ${micros[1]}`)
    }
  }
  return pathRounds
}

/** Joins the rounds of the same paths that were measured after different starts. */
export function joinCosts(costs: readonly PathCosts[]): PathCosts[] {
  const joinedCosts = new Map<string, PathCosts>()
  for (const { path, rounds } of costs) {
    const earlierRounds = joinedCosts.get(path.name)?.rounds ?? []
    joinedCosts.set(path.name, { path, rounds: [...earlierRounds, ...rounds] })
  }
  return [...joinedCosts.values()]
}

/** Returns our target and the target of the other commit. */
function listTargets({ ours, cleanUp, comparisons: [other] }: MeasuredPath) {
  if (!other) throw new Error('a path has no target at the other commit')
  return [{ target: ours, cleanUp }, other] as const
}

/**
 * Sends requests until the processor time per response is steady, for at most eight seconds.
 *
 * @returns whether it is steady
 */
async function warmUp(target: Target, name: string, print: (line: string) => void): Promise<boolean> {
  const costs: number[] = []
  let errors = 0
  while (costs.length < MAX_WARM_UPS && !areSteady(costs)) {
    await target.prepare?.(WARM_UP_SECONDS + RUN_UP_SECONDS)
    const saturation = await saturate(target, WARM_UP_SECONDS)
    costs.push(saturation.processorMicros)
    errors += saturation.errors
  }
  const isSteady = areSteady(costs)
  const lastCost = costs.at(-1)?.toFixed(0).padStart(5)
  print(
    `warm  ${name.padEnd(28)}${lastCost} µs after ${costs.length} s${isSteady ? '' : ', not steady'}${errors > 0 ? `, ${errors} errors` : ''}`,
  )
  return isSteady
}

/** Returns whether the last three costs are nearly the same. */
export function areSteady(costs: readonly number[]): boolean {
  const { median, least, most } = summarizeSpread(costs.slice(-3))
  return costs.length >= 3 && most - least <= MAX_STEADY_SPREAD * median
}

function formatProgress(name: string, measurement: Measurement): string {
  const { saturation, arrivals, fault } = measurement
  const { perSecond, targetBusy, generatorBusy, processorMicros } = saturation
  const columns = [
    name.padEnd(34),
    `${perSecond.toFixed(0).padStart(6)}/s`,
    `${processorMicros.toFixed(0).padStart(5)} µs`,
    `server ${formatPercent(targetBusy)}, generator ${formatPercent(generatorBusy)}`,
    `p50 ${arrivals.latency.p50.toFixed(1)} p99 ${arrivals.latency.p99.toFixed(1)} ms`,
    `lag p99 ${arrivals.lag.p99.toFixed(1)} ms`,
  ]
  if (fault) columns.push(`VOID: ${fault.description}`)
  else if (measurement.isLate) columns.push('no latency: the generator was late')
  return columns.join('  ')
}
