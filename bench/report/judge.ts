import { type Spread, spreadOf } from '../load/quantiles.ts'
import type { Measurement } from '../measure.ts'
import type { PathSeries, Series } from '../run-rounds.ts'

/** Figures of one target over all rounds; none when a round has a fault, and then why. */
export type Figures =
  | {
      readonly ok: true
      readonly perSecond: Spread
      readonly processorMicros: Spread
      /** Of the rounds in which the generator was not late; undefined when those were fewer than half. */
      readonly latency: { readonly p50: Spread; readonly p99: Spread; readonly rounds: number } | undefined
      readonly lagP99: Spread
    }
  | { readonly ok: false; readonly why: string }

export function figuresOf({ rounds }: Pick<Series, 'rounds'>): Figures {
  const fault = rounds.find((round) => round.fault)?.fault
  if (fault || rounds.length === 0) return { ok: false, why: fault?.what ?? 'not measured' }
  const spread = (of: (round: Measurement) => number) => spreadOf(rounds.map(of))
  return {
    ok: true,
    perSecond: spread(({ saturation }) => saturation.perSecond),
    processorMicros: spread(({ saturation }) => saturation.processorMicros),
    latency: latencyOf(rounds),
    lagP99: spread(({ arrivals }) => arrivals.lag.p99),
  }
}

function latencyOf(rounds: readonly Measurement[]) {
  const inTime = rounds.filter((round) => !round.isLate).map(({ arrivals }) => arrivals.latency)
  if (inTime.length * 2 < rounds.length) return undefined
  return {
    p50: spreadOf(inTime.map(({ p50 }) => p50)),
    p99: spreadOf(inTime.map(({ p99 }) => p99)),
    rounds: inTime.length,
  }
}

/** A row of the issue's table. */
export interface Verdict {
  readonly path: string
  readonly against: string
  readonly target: string
  /** What was measured, or why there is no figure. */
  readonly measured: string
  /** Undefined where nothing is promised. */
  readonly held?: boolean
}

/** @param fromMemory whether the API answered for known tokens without asking the authorization server */
export function verdictsOf(all: readonly PathSeries[], fromMemory: boolean): Verdict[] {
  return all.flatMap(({ path, ours, beside }) =>
    path.beside.map(({ baseline, atLeast }): Verdict => {
      const theirs = beside.find(({ name }) => name === baseline)
      const ratio = theirs && ratioOf(ours, theirs)
      const uncached = path.name === 'guide-bearer' && !fromMemory
      return {
        path: path.title,
        against: `\`${baseline}\``,
        target: atLeast === undefined ? '–' : `at least ${atLeast}`,
        measured: `${ratio?.ok ? spreadText(ratio, 2) : `no figure: ${ratio?.why}`}${uncached ? ', without a cache' : ''}`,
        ...(atLeast !== undefined && {
          held: ratio?.ok === true && ratio.median >= atLeast && !uncached,
        }),
      }
    }),
  )
}

type Ratio = ({ readonly ok: true } & Spread) | { readonly ok: false; readonly why: string }

/** Throughput, ours to theirs, of each round; then median and range of these. */
function ratioOf(ours: Series, theirs: Series): Ratio {
  const broken = [ours, theirs].map(figuresOf).find((figures) => !figures.ok)
  if (broken?.ok === false) return { ok: false, why: broken.why }
  const ratios = ours.rounds.map(
    (round, index) => round.saturation.perSecond / (theirs.rounds[index]?.saturation.perSecond ?? Number.NaN),
  )
  return { ok: true, ...spreadOf(ratios) }
}

export const spreadText = ({ median, least, most }: Spread, digits: number) =>
  `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`
