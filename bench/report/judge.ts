import type { Saturation } from '../load/closed-loop.ts'
import type { Memory } from '../load/processor-time.ts'
import { type Spread, summarizeSpread } from '../load/quantiles.ts'
import type { Revocations } from '../revocation.ts'
import type { Measurement, PathCosts, PathSeries, Series } from '../run-rounds.ts'

/** The figures of one target over all rounds, or the reason it has none: nothing was measured, or a round was invalid. */
export type Figures =
  | {
      readonly isValid: true
      readonly perSecond: Spread
      readonly processorMicros: Spread
      /** Latency in the rounds without a late generator; undefined if these were fewer than half. */
      readonly latency: { readonly p50: Spread; readonly p99: Spread; readonly rounds: number } | undefined
      readonly lagP99: Spread
    }
  | { readonly isValid: false; readonly reason: string }

/** Computes the figures of a target from its rounds. */
export function computeFigures({ rounds }: Pick<Series, 'rounds'>): Figures {
  const fault = rounds.find((round) => round.fault)?.fault
  if (fault || rounds.length === 0) return { isValid: false, reason: fault?.description ?? 'not measured' }
  const summarizeRounds = (getFigure: (round: Measurement) => number) =>
    summarizeSpread(rounds.map(getFigure))
  return {
    isValid: true,
    perSecond: summarizeRounds(({ saturation }) => saturation.perSecond),
    processorMicros: summarizeRounds(({ saturation }) => saturation.processorMicros),
    latency: summarizeLatency(rounds),
    lagP99: summarizeRounds(({ arrivals }) => arrivals.lag.p99),
  }
}

function summarizeLatency(rounds: readonly Measurement[]) {
  const timelyLatencies = rounds.filter((round) => !round.isLate).map(({ arrivals }) => arrivals.latency)
  if (timelyLatencies.length * 2 < rounds.length) return undefined
  return {
    p50: summarizeSpread(timelyLatencies.map(({ p50 }) => p50)),
    p99: summarizeSpread(timelyLatencies.map(({ p99 }) => p99)),
    rounds: timelyLatencies.length,
  }
}

/** A row of the targets table. */
export interface Verdict {
  readonly path: string
  readonly against: string
  readonly target: string
  /** The figure that is judged, or the reason it is missing. */
  readonly measured: string
  /** The ratio of throughputs, which is not judged. */
  readonly throughput?: string
  /** True if the target was met; undefined without a target. */
  readonly isMet?: boolean
}

/**
 * Compares each path with its baselines, by processor time.
 *
 * @param isCacheUsed true if the API accepted known tokens without another introspection
 */
export function judgeAll(paths: readonly PathSeries[], isCacheUsed: boolean): Verdict[] {
  return paths.flatMap(({ path, ours, baselineSeries }) =>
    path.comparisons.map(({ baseline, atLeast }): Verdict => {
      const theirs = baselineSeries.find(({ name }) => name === baseline)
      const ratio = theirs && computeRatio(ours, theirs, computeProcessorTimeRatio)
      const throughput = theirs && computeRatio(ours, theirs, computeThroughputRatio)
      // These paths measure reads with a cached introspection, so without a cache they do not meet their target.
      const isUncached = ['guide-bearer', 'guide-dpop'].includes(path.name) && !isCacheUsed
      return {
        path: path.title,
        against: `\`${baseline}\``,
        target: atLeast === undefined ? '–' : `at least ${atLeast}`,
        measured: `${ratio?.isValid ? formatSpread(ratio, 2) : `no figure: ${ratio?.reason}`}${isUncached ? ', without a cache' : ''}`,
        ...(throughput?.isValid && { throughput: formatSpread(throughput, 2) }),
        ...(atLeast !== undefined && {
          isMet: ratio?.isValid === true && ratio.median >= atLeast && !isUncached,
        }),
      }
    }),
  )
}

/** The maximum median ratio of a path's processor time to that at the other commit. */
const MAX_TIME_RATIO = 1.03

/**
 * Compares each path with the same path of another commit by processor time, which depends less on other work on the machine
 * than throughput does.
 *
 * @param commit the commit's name on the command line
 */
export function judgeAgainst(paths: readonly PathCosts[], commit: string): Verdict[] {
  return paths.map(({ path, rounds }): Verdict => {
    const errors = rounds.reduce((sum, { ours, other }) => sum + ours.errors + other.errors, 0)
    const ratio = summarizeSpread(
      rounds.map(({ ours, other }) => ours.processorMicros / other.processorMicros),
    )
    return {
      path: path.title,
      against: `\`${commit}\`, CPU µs per response`,
      target: `at most ${MAX_TIME_RATIO}`,
      measured: errors > 0 ? `no figure: ${errors} errors` : formatSpread(ratio, 2),
      isMet: errors === 0 && ratio.median <= MAX_TIME_RATIO,
    }
  })
}

type Ratio = ({ readonly isValid: true } & Spread) | { readonly isValid: false; readonly reason: string }

/** Compares our target with a baseline, both measured in the same round. */
type CompareSaturations = (ours: Saturation, theirs: Saturation) => number

/** The baseline's processor time per response, divided by ours: 0.5 if we need twice as much. */
const computeProcessorTimeRatio: CompareSaturations = (ours, theirs) =>
  theirs.processorMicros / ours.processorMicros
const computeThroughputRatio: CompareSaturations = (ours, theirs) => ours.perSecond / theirs.perSecond

/** Compares two targets in each round. Returns the median and the range of the ratios. */
function computeRatio(ours: Series, theirs: Series, compare: CompareSaturations): Ratio {
  const invalid = [ours, theirs].map(computeFigures).find((figures) => !figures.isValid)
  if (invalid?.isValid === false) return { isValid: false, reason: invalid.reason }
  const ratios = ours.rounds.map(({ saturation }, index) => {
    const theirRound = theirs.rounds[index]
    return theirRound ? compare(saturation, theirRound.saturation) : Number.NaN
  })
  return { isValid: true, ...summarizeSpread(ratios) }
}

/** Formats a spread as `median (minimum–maximum)`. */
export const formatSpread = ({ median, least, most }: Spread, digits: number) =>
  `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`

/** The target for revocations: their 99th percentile must be below this. */
const MAX_REVOCATION_MS = 20
const MEGABYTE = 1024 ** 2
/** The targets for memory: the resident memory of each app must be below these. */
const MAX_MEMORY_MB = { idle: 120, underLoad: 250 }

/** Judges the latency of revocations. If the APIs did not cache introspections, the target is not met. */
export function judgeRevocations(rounds: readonly Revocations[], isCacheUsed: boolean): Verdict {
  const fault = rounds.find((round) => round.fault)?.fault
  const p99 = summarizeSpread(rounds.map(({ arrivals }) => arrivals.latency.p99))
  return {
    path: 'revocation answered, two API instances with warm caches, 50 a second',
    against: 'p99',
    target: `under ${MAX_REVOCATION_MS} ms`,
    measured: fault
      ? `no figure: ${fault.description}`
      : `${formatSpread(p99, 1)} ms${isCacheUsed ? '' : ', without caches'}`,
    isMet: !fault && isCacheUsed && p99.median < MAX_REVOCATION_MS,
  }
}

/** Judges the resident memory of each app. */
export const judgeMemory = (apps: Readonly<Record<string, Memory>>): Verdict[] =>
  Object.entries(apps).map(([app, { idle, underLoad }]) => ({
    path: `memory of \`apps/${app}\``,
    against: 'idle / under load',
    target: `under ${MAX_MEMORY_MB.idle} / ${MAX_MEMORY_MB.underLoad} MB`,
    measured: `${toMegabytes(idle)} / ${toMegabytes(underLoad)} MB`,
    isMet: idle < MAX_MEMORY_MB.idle * MEGABYTE && underLoad < MAX_MEMORY_MB.underLoad * MEGABYTE,
  }))

const toMegabytes = (bytes: number) => Math.round(bytes / MEGABYTE)
