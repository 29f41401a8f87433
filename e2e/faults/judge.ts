import { type Goodput, measureGoodput } from './goodput.ts'
import type { Entry, Stall } from './load.ts'
import { type Component, getOperation, OPERATION_NAMES, type OperationName } from './operations.ts'

/** The effects that a fault may have. All times are from `performance.now()`. */
export interface Expectation {
  readonly components: readonly Component[]
  /** The maximum time until any response of the run; by default 5 s. */
  readonly maxResponseMs?: number
  /** The time after the fault in which refusals are still permitted; by default 5 s. */
  readonly graceMs?: number
  /** The maximum share of all requests that may be refused. */
  readonly maxRefusedShare?: number
  /**
   * The share of all requests that may be refused because of load. By default, 4 % may be refused without another cause
   * after a time-out or during a stall, as on a busy machine.
   */
  readonly maxShedShare?: number | undefined
  /** The time after the fault within which goodput must reach 80 % of its former value. */
  readonly maxRecoveryMs?: number
  /** Operations that no process can serve during the fault: each must be refused at least once. */
  readonly refusedOperations: readonly OperationName[]
  /** When the fault began. */
  readonly faultedAt: number
  /** When the fault had ended, and the affected components worked again. */
  readonly repairedAt: number
  readonly stalls: readonly Stall[]
}

export interface Judgement {
  readonly requests: number
  readonly good: number
  readonly refused: number
  /**
   * The number of refusals that a busy machine can explain, by a time-out or a stall; with `maxShedShare`, of all refusals.
   * If it exceeds its limit (`maxShedShare`, or 4 % of all requests), `wrong` has a line about it.
   */
  readonly excused: number
  /** The number of requests by operation and outcome, such as `register refused`. */
  readonly outcomes: ReadonlyMap<string, number>
  /** One line for each kind of mistake. */
  readonly wrong: readonly string[]
  /**
   * The time from the end of the fault to the first good response, for the affected operation that took longest.
   * Undefined if the fault affects no operation, or if one did not recover.
   */
  readonly firstGoodSeconds: number | undefined
  /** The longest time until a response. */
  readonly slowestSeconds: number
  /** The goodput, for a fault with `maxRecoveryMs`. Undefined if it did not recover. */
  readonly goodput?: Goodput | undefined
  /** The times within which half of the refusals and all of them arrived. Undefined if there were none. */
  readonly shedSeconds: { readonly half: number; readonly all: number } | undefined
}

/** The default time after a fault in which refusals are still permitted. */
export const GRACE_MS = 5_000
/** A request that begins within this time after a stall may still be affected by it. */
const AFTER_STALL_MS = 300
const MAX_EXCUSED_SHARE = 0.04
/** The shortest time-out in an app is 200 ms, so a refusal in less than this time is not the result of a time-out. */
export const SHORTEST_TIMEOUT_MS = 190
/** The default limit for a response. It covers the wait for a connection, the query and its time-out. */
const MAX_RESPONSE_MS = 5_000

/** Judges the responses of a run: which mistakes they contain, and when the affected operations recovered. */
export function judge(entries: readonly Entry[], expected: Expectation): Judgement {
  const affected = listAffected(expected.components)
  const { maxShedShare } = expected
  const excused = entries.filter((entry) =>
    maxShedShare === undefined ? isExcused(entry, expected, affected) : entry.outcome === 'refused',
  )
  const mistakes = entries
    .filter((entry) => !excused.includes(entry))
    .flatMap((entry) => findMistakes(entry, expected, affected))
  const unseenRefusals = findUnseenRefusals(entries, expected)
  const recoveries = affected.map((name) => findFirstGoodAt(entries, name, expected.repairedAt))
  const goodput = expected.maxRecoveryMs === undefined ? undefined : measureGoodput(entries, expected)
  const unrecovered = affected.filter((_name, index) => recoveries[index] === undefined)
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
      ...unseenRefusals.map((name) => `${name}: never refused, so the fault had no effect`),
      ...(maxShedShare === undefined
        ? describeExcessExcuses(excused.length, entries.length)
        : describeExcessRefusals(entries, maxShedShare)),
      ...unrecovered.map((name) => `${name}: no good response after the fault`),
    ],
    firstGoodSeconds:
      unrecovered.length > 0 || affected.length === 0
        ? undefined
        : (Math.max(...recoveries.map(Number)) - expected.repairedAt) / 1000,
    slowestSeconds: Math.max(0, ...entries.map(measureDuration)) / 1000,
    shedSeconds: measureShedSeconds(entries),
    goodput,
  }
}

function describeSlowRecovery(goodput: Goodput | undefined, maxMs: number | undefined): string[] {
  if (maxMs === undefined) return []
  if (!goodput) return ['goodput did not return to 80 % of its former value and stay there']
  const { recoveredSeconds: seconds } = goodput
  if (seconds * 1_000 <= maxMs) return []
  return [`goodput took ${seconds.toFixed(1)} s to return to 80 % of its former value`]
}

const measureDuration = ({ startedAt, endedAt }: Entry) => endedAt - startedAt

/** Measures how long refused requests waited for their responses. */
function measureShedSeconds(entries: readonly Entry[]): Judgement['shedSeconds'] {
  const sortedWaits = entries
    .filter(({ outcome }) => outcome === 'refused')
    .map(measureDuration)
    .sort((a, b) => a - b)
  const half = sortedWaits[Math.floor(sortedWaits.length / 2)]
  const all = sortedWaits.at(-1)
  return half === undefined || all === undefined ? undefined : { half: half / 1000, all: all / 1000 }
}

function describeExcessRefusals(entries: readonly Entry[], maxShare = 1): string[] {
  const refused = entries.filter(({ outcome }) => outcome === 'refused').length
  return refused <= maxShare * entries.length ? [] : [`${refused} of ${entries.length} refused`]
}

const describeExcessExcuses = (excusedCount: number, requestCount: number): string[] =>
  excusedCount <= MAX_EXCUSED_SHARE * requestCount
    ? []
    : [`${excusedCount} refusals after a time-out or a stall that the fault does not explain`]

/** Finds the `refusedOperations` that have not been refused since the fault began. */
export const findUnseenRefusals = (
  entries: readonly Entry[],
  { refusedOperations, faultedAt }: Pick<Expectation, 'refusedOperations' | 'faultedAt'>,
): readonly OperationName[] => {
  const refused = entries.filter(({ outcome, endedAt }) => outcome === 'refused' && endedAt >= faultedAt)
  return refusedOperations.filter((name) => !refused.some((entry) => entry.operation === name))
}

/** Lists the operations that need one of the components. */
export const listAffected = (components: readonly Component[]): readonly OperationName[] =>
  OPERATION_NAMES.filter((name) =>
    getOperation(name).needs.some((component) => components.includes(component)),
  )

/** Returns when the first good response to a request from after the fault arrived; undefined if there was none. */
export function findFirstGoodAt(
  entries: readonly Entry[],
  name: OperationName,
  repairedAt: number,
): number | undefined {
  const good = entries.filter(
    (entry) => entry.operation === name && entry.outcome === 'good' && entry.startedAt >= repairedAt,
  )
  return good.length === 0 ? undefined : Math.min(...good.map((entry) => entry.endedAt))
}

/** Returns whether a time-out or a stall of a busy machine can explain a refusal that the fault does not explain. */
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
  { faultedAt, repairedAt, maxResponseMs = MAX_RESPONSE_MS, graceMs = GRACE_MS }: Expectation,
  affected: readonly OperationName[],
): string[] {
  const { operation: name, outcome, startedAt, endedAt } = entry
  if (outcome === 'wrong') return [`${name}: ${entry.mistake ?? ''}`]
  if (endedAt - startedAt > maxResponseMs)
    return [`${name}: responded after more than ${maxResponseMs / 1000} s`]
  if (outcome === 'good') return []
  if (!affected.includes(name)) return [`${name}: refused although it needs nothing that failed`]
  if (endedAt < faultedAt) return [`${name}: refused before the fault`]
  if (startedAt > repairedAt + graceMs)
    return [`${name}: refused more than ${graceMs / 1000} s after the fault`]
  return []
}

function countLines(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}
