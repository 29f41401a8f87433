import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import { type Expectation, judge } from '../faults/judge.ts'
import type { Ledger } from '../faults/ledger.ts'
import { type Load, startLoad } from '../faults/load.ts'
import type { OperationName } from '../faults/operations.ts'

/** The effects that a phase of a rehearsal may have; by default none. */
export type AllowedEffects = Partial<Pick<Expectation, 'components' | 'refusedOperations' | 'graceMs'>>

/** A phase of a rehearsal, and its effects on clients. */
export interface PhaseResult {
  readonly name: string
  readonly seconds: number
  readonly requests: number
  readonly refused: number
  /** Refusals and late responses that the phase does not explain; 0 if no more than a busy machine may cause. */
  readonly unexplained: number
  /** The number of responses that took more than 5 s. */
  readonly slow: number
  /** Responses that violate a guarantee, one line for each kind. */
  readonly wrong: readonly string[]
  /** The longest time without a good response to one of `OBSERVED_OPERATIONS`. */
  readonly silentSeconds: number
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
 * @param run calls `runPhase` for one phase after another. `runLoad` waits until the load has sent the requests of `seconds`
 */
export async function rehearseUnderLoad(
  { origin, ledger, rate }: Traffic,
  run: (rehearsal: {
    /** @param action may return the time (`performance.now()`) at which everything that it broke worked again */
    runPhase(name: string, action: () => Promise<number | void>, allowed?: AllowedEffects): Promise<void>
    runLoad(seconds: number): Promise<void>
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
      runLoad: (seconds) => runningLoad.waitUntilSent(seconds * rate),
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
    // Slow responses are counted separately, since they violate no guarantee.
    const isSlow = ({ endedAt, startedAt }: Load['entries'][number]) => endedAt - startedAt > SLOW_MS
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
      slow: phaseEntries.filter(isSlow).length,
      wrong: [...wrong].map(([mistake, occurrences]) => `${mistake} (${occurrences.length})`),
      ...findLongestSilence(entries, phaseStart, phaseEnd),
    }
  })
  return { phases, lost: await checkAcknowledged(origin, ledger, undefined, PATIENCE_MS) }
}

const NO_EFFECTS = { components: [], refusedOperations: [] } as const
const SLOW_MS = 5_000
/** For how long the check of acknowledged changes repeats refused requests. */
const PATIENCE_MS = 180_000

/**
 * Finds the longest time between two good responses to the same operation that overlaps with the phase, or from the last good
 * response to the end of the phase.
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
    // An operation without a later good response is silent until the end of the phase.
    if ((goodTimes.at(-1) ?? phaseStart) < phaseEnd) goodTimes.push(phaseEnd)
    const times = goodTimes.filter(
      (time, index) => time >= phaseStart && (goodTimes[index - 1] ?? phaseStart) <= phaseEnd,
    )
    const gaps = times.map((time) => time - (goodTimes[goodTimes.indexOf(time) - 1] ?? phaseStart))
    return { silentOperation: operation, silentSeconds: Math.max(0, ...gaps) / 1_000 }
  })
  return silences.reduce((longest, each) => (each.silentSeconds > longest.silentSeconds ? each : longest))
}
