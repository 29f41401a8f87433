import type { Memory } from '../load/processor-time.ts'
import { type Spread, summarizeSpread } from '../load/quantiles.ts'
import type { Revocations } from '../revocation.ts'
import type { Measurement, PathSeries, Series } from '../run-rounds.ts'

/** The figures of one target over all rounds, or why there are none: an invalid round. */
export type Figures =
  | {
      readonly ok: true
      readonly perSecond: Spread
      readonly processorMicros: Spread
      /** From the rounds in which the generator was not late; undefined when these were fewer than half. */
      readonly latency: { readonly p50: Spread; readonly p99: Spread; readonly rounds: number } | undefined
      readonly lagP99: Spread
    }
  | { readonly ok: false; readonly why: string }

export function computeFigures({ rounds }: Pick<Series, 'rounds'>): Figures {
  const fault = rounds.find((round) => round.fault)?.fault
  if (fault || rounds.length === 0) return { ok: false, why: fault?.what ?? 'not measured' }
  const spread = (of: (round: Measurement) => number) => summarizeSpread(rounds.map(of))
  return {
    ok: true,
    perSecond: spread(({ saturation }) => saturation.perSecond),
    processorMicros: spread(({ saturation }) => saturation.processorMicros),
    latency: summarizeLatency(rounds),
    lagP99: spread(({ arrivals }) => arrivals.lag.p99),
  }
}

function summarizeLatency(rounds: readonly Measurement[]) {
  const inTime = rounds.filter((round) => !round.isLate).map(({ arrivals }) => arrivals.latency)
  if (inTime.length * 2 < rounds.length) return undefined
  return {
    p50: summarizeSpread(inTime.map(({ p50 }) => p50)),
    p99: summarizeSpread(inTime.map(({ p99 }) => p99)),
    rounds: inTime.length,
  }
}

/** A row of the table of targets. */
export interface Verdict {
  readonly path: string
  readonly against: string
  readonly target: string
  /** The figure, or why there is none. */
  readonly measured: string
  /** Undefined when there is no target. */
  readonly held?: boolean
}

/** @param fromMemory whether the API answered for known tokens without asking the authorization server */
export function judgeAll(all: readonly PathSeries[], usedCache: boolean): Verdict[] {
  return all.flatMap(({ path, ours, beside }) =>
    path.beside.map(({ baseline, atLeast }): Verdict => {
      const theirs = beside.find(({ name }) => name === baseline)
      const ratio = theirs && computeRatio(ours, theirs)
      const uncached = ['guide-bearer', 'guide-dpop'].includes(path.name) && !usedCache
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

/** The most processor time that a path may take beside what it took before. */
const MOST_BESIDE_BEFORE = 1.03

/**
 * Judges each path beside the same path of another commit, by processor time: it depends less on other work on the machine
 * than throughput.
 *
 * @param commit as it was named
 */
export function judgeAgainst(all: readonly PathSeries[], commit: string): Verdict[] {
  return all.map(({ path, ours, beside: [before] }): Verdict => {
    const ratio = before && computeRatio(ours, before, ({ saturation }) => saturation.processorMicros)
    return {
      path: path.title,
      against: `\`${commit}\`, µs of processor`,
      target: `at most ${MOST_BESIDE_BEFORE}`,
      measured: ratio?.ok ? spreadText(ratio, 2) : `no figure: ${ratio?.why}`,
      held: ratio?.ok === true && ratio.median <= MOST_BESIDE_BEFORE,
    }
  })
}

type Ratio = ({ readonly ok: true } & Spread) | { readonly ok: false; readonly why: string }

/** Computes the ratio of a figure, ours to theirs, in each round, and median and range of the ratios. */
function computeRatio(
  ours: Series,
  theirs: Series,
  figure = ({ saturation }: Measurement) => saturation.perSecond,
): Ratio {
  const broken = [ours, theirs].map(computeFigures).find((figures) => !figures.ok)
  if (broken?.ok === false) return { ok: false, why: broken.why }
  const ratios = ours.rounds.map((round, index) => {
    const beside = theirs.rounds[index]
    return figure(round) / (beside ? figure(beside) : Number.NaN)
  })
  return { ok: true, ...summarizeSpread(ratios) }
}

export const spreadText = ({ median, least, most }: Spread, digits: number) =>
  `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`

const MOST_REVOCATION_MS = 20
const MEGABYTE = 1024 ** 2
const MOST_MEMORY = { idle: 120, underLoad: 250 }

export function revocationVerdict(rounds: readonly Revocations[], usedCache: boolean): Verdict {
  const fault = rounds.find((round) => round.fault)?.fault
  const p99 = summarizeSpread(rounds.map(({ arrivals }) => arrivals.latency.p99))
  return {
    path: 'revocation answered, two API instances with warm caches, 50 a second',
    against: 'p99',
    target: `under ${MOST_REVOCATION_MS} ms`,
    measured: fault
      ? `no figure: ${fault.what}`
      : `${spreadText(p99, 1)} ms${usedCache ? '' : ', without caches'}`,
    held: !fault && usedCache && p99.median < MOST_REVOCATION_MS,
  }
}

export const memoryVerdicts = (apps: Readonly<Record<string, Memory>>): Verdict[] =>
  Object.entries(apps).map(([app, { idle, underLoad }]) => ({
    path: `memory of \`apps/${app}\``,
    against: 'idle / under load',
    target: `under ${MOST_MEMORY.idle} / ${MOST_MEMORY.underLoad} MB`,
    measured: `${megabytes(idle)} / ${megabytes(underLoad)} MB`,
    held: idle < MOST_MEMORY.idle * MEGABYTE && underLoad < MOST_MEMORY.underLoad * MEGABYTE,
  }))

const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE)
