import { type Goodput, goodputOf } from './goodput.ts'
import type { Entry, Stall } from './load.ts'
import { OPERATION_NAMES, type OperationName, operation, type Part } from './operations.ts'

/** What a fault may do to whom, and when; times are those of the entries. */
export interface Expectation {
  readonly parts: readonly Part[]
  /** The longest that an answer may take; default 5 s. */
  readonly slowestMs?: number
  /** How long after the part is back a refusal is still right; default 5 s. */
  readonly graceMs?: number
  /** The largest share of all requests that may be refused. */
  readonly mostRefused?: number
  /** The share of all requests that may be refused because a machine is too busy; default 4 %, of which a time-out tells. */
  readonly mayShed?: number | undefined
  /** How long after the part is back good answers must be as frequent again as before, all but a fifth. */
  readonly recoversMs?: number
  /** Operations that nobody can serve while it lasts: each must be seen refused. */
  readonly refuses: readonly OperationName[]
  readonly faultedAt: number
  readonly backAt: number
  readonly stalls: readonly Stall[]
}

export interface Judgement {
  readonly requests: number
  readonly good: number
  readonly refused: number
  /** Refusals of which a machine that is too busy can be the cause: some time-out ran out. Their number must be small. */
  readonly excused: number
  /** How many of each operation came out how, such as `register refused`. */
  readonly outcomes: ReadonlyMap<string, number>
  /** One line for each kind of mistake, with how many there were. */
  readonly wrong: readonly string[]
  /** From the moment the part was back to the first good answer, of the operation that took longest; seconds. */
  readonly firstGoodSeconds: number | undefined
  /** The longest that any answer took; seconds. */
  readonly slowestSeconds: number
  /** Of a fault that says when it must have recovered. */
  readonly goodput?: Goodput | undefined
  /** How long refused requests waited for it: half of them, and all of them; seconds. Undefined where none was. */
  readonly shedSeconds: { readonly half: number; readonly all: number } | undefined
}

/** How long after the part is back a refusal is still right. */
export const GRACE_MS = 5_000
/** What began so shortly after a stall may still suffer from it. */
const AFTER_STALL_MS = 300
/** The share of all requests. */
const MOST_EXCUSED = 0.04
/** The shortest time-out in an app is 200 ms; no refusal that took less comes from one that ran out. */
export const SHORTEST_TIMEOUT_MS = 190
/** Nothing waits without a bound: getting a connection, asking, and giving up fit into this. */
const SLOWEST_MS = 5_000

export function judge(entries: readonly Entry[], expected: Expectation): Judgement {
  const affected = affectedBy(expected.parts)
  const { mayShed } = expected
  const excused = entries.filter((entry) =>
    mayShed === undefined ? isExcused(entry, expected, affected) : entry.outcome === 'refused',
  )
  const mistakes = entries
    .filter((entry) => !excused.includes(entry))
    .flatMap((entry) => mistakeOf(entry, expected, affected))
  const unseen = unseenRefusals(entries, expected)
  const recoveries = affected.map((name) => firstGoodAfter(entries, name, expected.backAt))
  const goodput = expected.recoversMs === undefined ? undefined : goodputOf(entries, expected)
  const never = affected.filter((_name, index) => recoveries[index] === undefined)
  return {
    requests: entries.length,
    good: entries.filter(({ outcome }) => outcome === 'good').length,
    refused: entries.filter(({ outcome }) => outcome === 'refused').length,
    excused: excused.length,
    outcomes: countOf(entries.map((entry) => `${entry.operation} ${entry.outcome}`).sort()),
    wrong: [
      ...tooManyRefused(entries, expected.mostRefused),
      ...tooLate(goodput, expected.recoversMs),
      ...[...countOf(mistakes)].map(([mistake, count]) => `${mistake} (${count})`),
      ...unseen.map((name) => `${name}: never refused, so the fault was none`),
      ...(excused.length > (mayShed ?? MOST_EXCUSED) * entries.length
        ? [`${excused.length} refusals after a time-out of what needs nothing that failed`]
        : []),
      ...never.map((name) => `${name}: no good answer after the fault`),
    ],
    firstGoodSeconds:
      never.length > 0 || affected.length === 0
        ? undefined
        : (Math.max(...recoveries.map(Number)) - expected.backAt) / 1000,
    slowestSeconds: Math.max(0, ...entries.map(duration)) / 1000,
    shedSeconds: shedSeconds(entries),
    goodput,
  }
}

function tooLate(goodput: Goodput | undefined, withinMs: number | undefined): string[] {
  if (withinMs === undefined) return []
  if (!goodput) return ['goodput was never again 80 % of what it had been']
  const { recoveredSeconds: seconds } = goodput
  if (seconds * 1_000 <= withinMs) return []
  return [`goodput was 80 % of what it had been only after ${seconds.toFixed(1)} s`]
}

const duration = ({ startedAt, endedAt }: Entry) => endedAt - startedAt

function shedSeconds(entries: readonly Entry[]): Judgement['shedSeconds'] {
  const waits = entries
    .filter(({ outcome }) => outcome === 'refused')
    .map(duration)
    .sort((a, b) => a - b)
  const [half, all] = [waits[Math.floor(waits.length / 2)], waits.at(-1)]
  return half === undefined || all === undefined ? undefined : { half: half / 1000, all: all / 1000 }
}

function tooManyRefused(entries: readonly Entry[], most = 1): string[] {
  const refused = entries.filter(({ outcome }) => outcome === 'refused').length
  return refused <= most * entries.length ? [] : [`${refused} of ${entries.length} refused`]
}

/** Operations that nobody can serve while the fault lasts, and of which no request was refused. */
export const unseenRefusals = (
  entries: readonly Entry[],
  { refuses, faultedAt }: Pick<Expectation, 'refuses' | 'faultedAt'>,
): readonly OperationName[] => {
  const refused = entries.filter(({ outcome, endedAt }) => outcome === 'refused' && endedAt >= faultedAt)
  return refuses.filter((name) => !refused.some((entry) => entry.operation === name))
}

export const affectedBy = (parts: readonly Part[]): readonly OperationName[] =>
  OPERATION_NAMES.filter((name) => operation(name).needs.some((part) => parts.includes(part)))

/** When the first good answer to a request that began after `backAt` was there. */
export function firstGoodAfter(
  entries: readonly Entry[],
  name: OperationName,
  backAt: number,
): number | undefined {
  const good = entries.filter(
    (entry) => entry.operation === name && entry.outcome === 'good' && entry.startedAt >= backAt,
  )
  return good.length === 0 ? undefined : Math.min(...good.map((entry) => entry.endedAt))
}

function isExcused(entry: Entry, expected: Expectation, affected: readonly OperationName[]): boolean {
  const { startedAt, endedAt, outcome } = entry
  return (
    outcome === 'refused' &&
    endedAt - startedAt <= (expected.slowestMs ?? SLOWEST_MS) &&
    mistakeOf(entry, expected, affected).length > 0 &&
    (endedAt - startedAt >= SHORTEST_TIMEOUT_MS ||
      expected.stalls.some(({ from, to }) => startedAt < to + AFTER_STALL_MS && from < endedAt))
  )
}

function mistakeOf(
  entry: Entry,
  { faultedAt, backAt, slowestMs = SLOWEST_MS, graceMs = GRACE_MS }: Expectation,
  affected: readonly OperationName[],
): string[] {
  const { operation: name, outcome, startedAt, endedAt } = entry
  if (outcome === 'wrong') return [`${name}: ${entry.why ?? ''}`]
  if (endedAt - startedAt > slowestMs) return [`${name}: answered after more than ${slowestMs / 1000} s`]
  if (outcome === 'good') return []
  if (!affected.includes(name)) return [`${name}: refused although it needs nothing that failed`]
  if (endedAt < faultedAt) return [`${name}: refused before the fault`]
  if (startedAt > backAt + graceMs) return [`${name}: refused more than ${graceMs / 1000} s after the fault`]
  return []
}

function countOf(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}
