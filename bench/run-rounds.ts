import { saturate } from './load/closed-loop.ts'
import type { Target } from './load/target.ts'
import { type Measurement, measure, percent } from './measure.ts'
import type { MeasuredPath } from './measured-paths.ts'

/** All rounds of one target. */
export interface Series {
  /** `ours`, or the name of the baseline. */
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
 * Measures the targets of each path one right after the other, round by round, in one order and then in the other: what
 * changes on the machine meanwhile meets all of them alike.
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
      ...path.beside.map(({ baseline, target }) => ({
        name: baseline as string,
        target,
        tidy: undefined,
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
  const { errors } = await saturate(target, WARM_UP_SECONDS)
  say(`warm  ${name}${errors > 0 ? `  ${errors} errors` : ''}`)
}

function progressLine(name: string, { saturation, arrivals, fault, isLate }: Measurement): string {
  const { perSecond, targetBusy, generatorBusy, processorMicros } = saturation
  return [
    name.padEnd(34),
    `${perSecond.toFixed(0).padStart(6)}/s`,
    `${processorMicros.toFixed(0).padStart(5)} µs`,
    `server ${percent(targetBusy)}, generator ${percent(generatorBusy)}`,
    `p50 ${arrivals.latency.p50.toFixed(1)} p99 ${arrivals.latency.p99.toFixed(1)} ms`,
    `lag p99 ${arrivals.lag.p99.toFixed(1)} ms`,
    ...(fault ? [`VOID: ${fault.what}`] : isLate ? ['no latency: the generator was late'] : []),
  ].join('  ')
}
