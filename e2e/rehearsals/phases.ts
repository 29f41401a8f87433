import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import { type Expectation, judge } from '../faults/judge.ts'
import type { Ledger } from '../faults/ledger.ts'
import { type Load, startLoad } from '../faults/load.ts'
import type { OperationName } from '../faults/operations.ts'

/** The effects that a phase of a rehearsal may have; by default none. `judge.ts` describes the members. */
export type AllowedEffects = Partial<Pick<Expectation, 'components' | 'refusedOperations' | 'graceMs'>>

/** A phase of a rehearsal, and its effects on clients. */
export interface PhaseResult {
  readonly name: string
  readonly seconds: number
  readonly requests: number
  readonly refused: number
  /** 0 if `judge` found no mistake. Otherwise its excused refusals plus its kinds of mistake: a measure, not a number of responses. */
  readonly unexplained: number
  /** The number of responses that took more than 5 s. */
  readonly late: number
  /** Responses that violate a guarantee, one line for each kind. */
  readonly wrong: readonly string[]
  /** The longest time that any single one of `OBSERVED_OPERATIONS` went without a good response. */
  readonly silentSeconds: number
  /** The operation with that time. */
  readonly silentOperation: OperationName
}

/** The operations on which agents depend. */
const OBSERVED_OPERATIONS: readonly OperationName[] = [
  'register',
  'token',
  'read with a token',
  'revoke',
  'join',
  'guides',
]

/** Small, so that a busy machine refuses nothing while the ledger is prepared. */
export const LEDGER_SIZE = { agents: 60, people: 10, concurrency: 2 } as const

export interface Traffic {
  readonly origin: string
  readonly ledger: Ledger
  /** The number of requests per second. */
  readonly rate: number
}

/**
 * Sends requests while `run` carries out the phases of a rehearsal, and then checks whether an acknowledged change was lost.
 *
 * @param run calls `runPhase` for one phase after another. `waitForLoad` waits until as many more requests have been sent as
 *   `rate` gives in `seconds`
 * @returns the phases, and in `lost` one line for each lost change, each revoked token or deleted agent that is still accepted,
 *   and each unexpected response
 */
export async function rehearseUnderLoad(
  { origin, ledger, rate }: Traffic,
  run: (rehearsal: {
    /** @param action may return when everything that it broke had recovered, as a `performance.now()` time; by default its end */
    runPhase(name: string, action: () => Promise<number | void>, allowed?: AllowedEffects): Promise<void>
    waitForLoad(seconds: number): Promise<void>
  }) => Promise<void>,
): Promise<{ readonly phases: readonly PhaseResult[]; readonly lost: readonly string[] }> {
  const timings: {
    name: string
    phaseStart: number
    phaseEnd: number
    repairedAt: number
    allowed: AllowedEffects
  }[] = []
  const runPhases = async (load: Load) => {
    await using runningLoad = load
    await run({
      async runPhase(name, action, allowed = {}) {
        const phaseStart = performance.now()
        const repairedAt = await action()
        const phaseEnd = performance.now()
        timings.push({ name, phaseStart, phaseEnd, repairedAt: repairedAt ?? phaseEnd, allowed })
      },
      waitForLoad: (seconds) => runningLoad.waitUntilSent(seconds * rate),
    })
    return runningLoad
  }
  const { entries, stalls } = await runPhases(startLoad({ origin, ledger, rate }))
  const phases = timings.map(({ name, phaseStart, phaseEnd, repairedAt, allowed }) => {
    const phaseEntries = entries.filter(({ startedAt }) => phaseStart <= startedAt && startedAt < phaseEnd)
    const judgement = judge(phaseEntries, {
      ...NO_EFFECTS,
      ...allowed,
      faultedAt: phaseStart,
      repairedAt,
      stalls,
    })
    const { requests, refused, excused } = judgement
    // Late responses are counted separately, since they violate no guarantee.
    const isLate = ({ endedAt, startedAt }: Load['entries'][number]) => endedAt - startedAt > LATE_MS
    const wrong = Map.groupBy(
      phaseEntries.filter(({ outcome }) => outcome === 'wrong'),
      ({ operation, mistake }) => `${operation}: ${mistake ?? ''}`,
    )
    return {
      name,
      seconds: (phaseEnd - phaseStart) / 1_000,
      requests,
      refused,
      unexplained: judgement.wrong.length === 0 ? 0 : excused + judgement.wrong.length,
      late: phaseEntries.filter(isLate).length,
      wrong: [...wrong].map(([mistake, occurrences]) => `${mistake} (${occurrences.length})`),
      ...findLongestSilence(entries, phaseStart, phaseEnd),
    }
  })
  return { phases, lost: await checkAcknowledged(origin, ledger, undefined, PATIENCE_MS) }
}

const NO_EFFECTS = { components: [], refusedOperations: [] } as const
const LATE_MS = 5_000
/** For how long the check of acknowledged changes repeats refused requests. */
const PATIENCE_MS = 180_000

/**
 * Measures, for each operation, the gaps between good responses that overlap with the phase, and returns the longest of all.
 * The start of the phase stands in for a missing earlier response, and its end for a missing later one.
 */
function findLongestSilence(
  entries: Load['entries'],
  phaseStart: number,
  phaseEnd: number,
): Pick<PhaseResult, 'silentSeconds' | 'silentOperation'> {
  const silences = OBSERVED_OPERATIONS.map((operation) => {
    const goodTimes = entries
      .filter((entry) => entry.operation === operation && entry.outcome === 'good')
      .map(({ endedAt }) => endedAt)
      .sort((a, b) => a - b)
    if ((goodTimes.at(-1) ?? phaseStart) < phaseEnd) goodTimes.push(phaseEnd)
    const times = goodTimes.filter(
      (time, index) => time >= phaseStart && (goodTimes[index - 1] ?? phaseStart) <= phaseEnd,
    )
    const gaps = times.map((time) => time - (goodTimes[goodTimes.indexOf(time) - 1] ?? phaseStart))
    return { silentOperation: operation, silentSeconds: Math.max(0, ...gaps) / 1_000 }
  })
  return silences.reduce((longest, each) => (each.silentSeconds > longest.silentSeconds ? each : longest))
}
