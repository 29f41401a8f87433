import { type Goodput, measureGoodput } from './goodput.ts'
import type { Entry, Stall } from './load.ts'
import { OPERATION_NAMES, type OperationName, operation, type Part } from './operations.ts'

/** The effects that a fault may have. Times are those of the entries; the limits are described in `FaultCase`. */
export interface Expectation {
  readonly parts: readonly Part[]
  /** The longest time until a response; 5 s when absent. */
  readonly maxResponseMs?: number
  /** The time after the fault in which refusals are still permitted; 5 s when absent. */
  readonly graceMs?: number
  /** The largest share of all requests that may be refused. */
  readonly maxRefusedShare?: number
  /** The share of all requests that a busy machine may refuse. When absent 4 %, and only after a time-out. */
  readonly maxShedShare?: number | undefined
  /** The time after the fault within which goodput must reach 80 % of what it was before. */
  readonly maxRecoveryMs?: number
  /** Operations that no process can serve during the fault: each must be refused at least once. */
  readonly refuses: readonly OperationName[]
  readonly faultedAt: number
  readonly backAt: number
  readonly stalls: readonly Stall[]
}

export interface Judgement {
  readonly requests: number
  readonly good: number
  readonly refused: number
  /** Refusals that a busy machine can explain, because a time-out expired. Their number must be small. */
  readonly excused: number
  /** The number of requests by operation and outcome, such as `register refused`. */
  readonly outcomes: ReadonlyMap<string, number>
  /** One line for each kind of mistake, with its count. */
  readonly wrong: readonly string[]
  /** The time from the end of the fault to the first good response, for the operation that took longest. */
  readonly firstGoodSeconds: number | undefined
  /** The longest time until any response. */
  readonly slowestSeconds: number
  /** Only for a fault with `maxRecoveryMs`. */
  readonly goodput?: Goodput | undefined
  /** The time within which half of the refusals came, and all of them. Undefined when there were none. */
  readonly shedSeconds: { readonly half: number; readonly all: number } | undefined
}

/** The time after a fault in which refusals are still permitted. */
export const GRACE_MS = 5_000
/** A request that begins within this time after a stall may still be affected by it. */
const AFTER_STALL_MS = 300
const MAX_EXCUSED_SHARE = 0.04
/** The shortest time-out in an app is 200 ms, so an earlier refusal is not the result of a time-out. */
export const SHORTEST_TIMEOUT_MS = 190
/** The default bound for a response; it covers waiting for a connection, the query, and giving up. */
const MAX_RESPONSE_MS = 5_000

/** Judges the responses of a run: which refusals the fault explains, what is wrong, and when operations recovered. */
export function judge(entries: readonly Entry[], expected: Expectation): Judgement {
  const affected = listAffected(expected.parts)
  const { maxShedShare } = expected
  const excused = entries.filter((entry) =>
    maxShedShare === undefined ? isExcused(entry, expected, affected) : entry.outcome === 'refused',
  )
  const mistakes = entries
    .filter((entry) => !excused.includes(entry))
    .flatMap((entry) => findMistakes(entry, expected, affected))
  const unseen = findUnseenRefusals(entries, expected)
  const recoveries = affected.map((name) => findFirstGood(entries, name, expected.backAt))
  const goodput = expected.maxRecoveryMs === undefined ? undefined : measureGoodput(entries, expected)
  const never = affected.filter((_name, index) => recoveries[index] === undefined)
  return {
    requests: entries.length,
    good: entries.filter(({ outcome }) => outcome === 'good').length,
    refused: entries.filter(({ outcome }) => outcome === 'refused').length,
    excused: excused.length,
    outcomes: countLines(entries.map((entry) => `${entry.operation} ${entry.outcome}`).sort()),
    wrong: [
      ...describeExcessRefusals(entries, expected.maxRefusedShare),
      ...describeSlowRecovery(goodput, expected.maxRecoveryMs),
      ...[...countLines(mistakes)].map(([mistake, count]) => `${mistake} (${count})`),
      ...unseen.map((name) => `${name}: never refused, so the fault was none`),
      ...(excused.length > (maxShedShare ?? MAX_EXCUSED_SHARE) * entries.length
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

function describeSlowRecovery(goodput: Goodput | undefined, withinMs: number | undefined): string[] {
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

function describeExcessRefusals(entries: readonly Entry[], most = 1): string[] {
  const refused = entries.filter(({ outcome }) => outcome === 'refused').length
  return refused <= most * entries.length ? [] : [`${refused} of ${entries.length} refused`]
}

/** Finds the operations of `refuses` of which no request was refused during the fault. */
export const findUnseenRefusals = (
  entries: readonly Entry[],
  { refuses, faultedAt }: Pick<Expectation, 'refuses' | 'faultedAt'>,
): readonly OperationName[] => {
  const refused = entries.filter(({ outcome, endedAt }) => outcome === 'refused' && endedAt >= faultedAt)
  return refuses.filter((name) => !refused.some((entry) => entry.operation === name))
}

export const listAffected = (parts: readonly Part[]): readonly OperationName[] =>
  OPERATION_NAMES.filter((name) => operation(name).needs.some((part) => parts.includes(part)))

/** Returns when the first good response arrived to a request that began after `backAt`. */
export function findFirstGood(
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
    endedAt - startedAt <= (expected.maxResponseMs ?? MAX_RESPONSE_MS) &&
    findMistakes(entry, expected, affected).length > 0 &&
    (endedAt - startedAt >= SHORTEST_TIMEOUT_MS ||
      expected.stalls.some(({ from, to }) => startedAt < to + AFTER_STALL_MS && from < endedAt))
  )
}

function findMistakes(
  entry: Entry,
  { faultedAt, backAt, maxResponseMs = MAX_RESPONSE_MS, graceMs = GRACE_MS }: Expectation,
  affected: readonly OperationName[],
): string[] {
  const { operation: name, outcome, startedAt, endedAt } = entry
  if (outcome === 'wrong') return [`${name}: ${entry.why ?? ''}`]
  if (endedAt - startedAt > maxResponseMs)
    return [`${name}: answered after more than ${maxResponseMs / 1000} s`]
  if (outcome === 'good') return []
  if (!affected.includes(name)) return [`${name}: refused although it needs nothing that failed`]
  if (endedAt < faultedAt) return [`${name}: refused before the fault`]
  if (startedAt > backAt + graceMs) return [`${name}: refused more than ${graceMs / 1000} s after the fault`]
  return []
}

function countLines(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}
