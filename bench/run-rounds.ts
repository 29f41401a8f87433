import { RUN_UP_SECONDS, type Saturation, saturate } from './load/closed-loop.ts'
import { type Arrivals, arrive } from './load/open-loop.ts'
import type { Target } from './load/target.ts'
import type { MeasuredPath } from './measured-paths.ts'

/** One target in one round: its throughput, and its latency at 60 % of that. */
export interface Measurement {
  readonly saturation: Saturation
  readonly arrivals: Arrivals
  /** Why the measurement is invalid. */
  readonly fault?: Fault
  /** Whether the generator was late: then the latency is invalid, but the throughput is not. */
  readonly isLate: boolean
}

interface Fault {
  /** `errors` invalidate the figure; a generator that was too slow invalidates only this attempt. */
  readonly kind: 'errors' | 'generator'
  readonly what: string
}

const SHARE_OF_SATURATION = 0.6
/** A generator with a longer delay measures itself. */
const MAX_LAG_MS = 5
const TRIES = 3

/** Measures, and repeats the measurement at most twice when the generator was too slow. */
async function measure(
  target: Target,
  { seconds, boundBy }: { seconds: number; boundBy: 'server' | 'store' },
): Promise<Measurement> {
  let measurement: Measurement | undefined
  for (let tried = 0; tried < TRIES; tried += 1) {
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
      what: `the generator was the slower one (server ${percent(targetBusy)} busy)`,
    }
  }
  return undefined
}

export const isLate = ({ lag }: Arrivals) => lag.p99 > MAX_LAG_MS

const percent = (share: number) => `${Math.round(share * 100)} %`

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
 * Measures the targets of each path one after the other, round by round, in alternating order, so that
 * changes of the machine affect all of them alike.
 */
export async function runRounds(
  paths: readonly MeasuredPath[],
  options: { rounds: number; seconds: number; say: (line: string) => void; signal: AbortSignal },
): Promise<PathSeries[]> {
  const { rounds, seconds, say, signal } = options
  const running = paths.map((path) => ({
    path,
    boundBy: path.boundBy,
    targets: [
      { name: 'ours', target: path.ours, tidy: path.tidy, rounds: [] as Measurement[] },
      ...path.beside.map(({ baseline, target, tidy }) => ({
        name: baseline as string,
        target,
        tidy,
        rounds: [] as Measurement[],
      })),
    ],
  }))
  for (const { path, targets } of running) {
    for (const { name, target, tidy } of targets) {
      await warmUp(target, `${path.name} ${name}`, say)
      await tidy?.()
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { path, boundBy, targets } of running) {
      for (const each of round % 2 === 0 ? targets.toReversed() : targets) {
        signal.throwIfAborted()
        const measurement = await measure(each.target, { seconds, boundBy })
        await each.tidy?.()
        each.rounds.push(measurement)
        say(progressLine(`${round}/${rounds}  ${path.name} ${each.name}`, measurement))
      }
    }
  }
  return running.map(({ path, targets }) => {
    const [ours, ...beside] = targets.map(({ name, rounds: measured }) => ({ name, rounds: measured }))
    if (!ours) throw new Error('a path has no target')
    return { path, ours, beside }
  })
}

async function warmUp(target: Target, name: string, say: (line: string) => void): Promise<void> {
  await target.prepare?.(WARM_UP_SECONDS + RUN_UP_SECONDS)
  const { errors } = await saturate(target, WARM_UP_SECONDS)
  say(`warm  ${name}${errors > 0 ? `  ${errors} errors` : ''}`)
}

function progressLine(name: string, measurement: Measurement): string {
  const { saturation, arrivals, fault } = measurement
  const { perSecond, targetBusy, generatorBusy, processorMicros } = saturation
  return [
    name.padEnd(34),
    `${perSecond.toFixed(0).padStart(6)}/s`,
    `${processorMicros.toFixed(0).padStart(5)} µs`,
    `server ${percent(targetBusy)}, generator ${percent(generatorBusy)}`,
    `p50 ${arrivals.latency.p50.toFixed(1)} p99 ${arrivals.latency.p99.toFixed(1)} ms`,
    `lag p99 ${arrivals.lag.p99.toFixed(1)} ms`,
    ...(fault ? [`VOID: ${fault.what}`] : measurement.isLate ? ['no latency: the generator was late'] : []),
  ].join('  ')
}
