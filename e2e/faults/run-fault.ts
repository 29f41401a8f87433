import { checkAcknowledged } from './check-acknowledged.ts'
import type { FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { FaultyStack } from './faulty-stack.ts'
import {
  findFirstGoodAt,
  findUnseenRefusals,
  GRACE_MS,
  type Judgement,
  judge,
  listAffected,
} from './judge.ts'
import type { Ledger } from './ledger.ts'
import { type Load, startLoad } from './load.ts'

/** The minimum seconds before, during (`held`) and after a fault. */
interface Phases {
  readonly steady: number
  readonly held: number
  readonly recovery: number
}
/** Short times before and after a fault, in seconds. */
export const SHORT_PHASES = { steady: 0.5, recovery: 0.5 } as const

/** The phases of a run, and the number of requests per second. */
export interface Traffic extends Phases {
  readonly rate: number
}

export interface FaultResult extends Judgement {
  readonly fault: string
  readonly numbers: readonly FaultNumber[]
  /** Lines about acknowledged changes that are lost, revoked tokens that are still accepted, and agents without credentials. */
  readonly lost: readonly string[]
}

/** Injects one fault into the stack under load, and then checks that no change that was acknowledged meanwhile is lost. */
export async function runFault(
  system: FaultyStack,
  ledger: Ledger,
  fault: FaultCase,
  traffic: Traffic,
): Promise<FaultResult> {
  const { origin } = system.stack
  const startedAt = performance.now()
  await fault.prepare?.(system, ledger)
  const { entries, ...observations } = await injectUnderLoad(
    system,
    ledger,
    fault,
    extendPhases(traffic, fault.minSeconds),
  )
  const judgement = judge(entries, { ...fault, ...observations })
  const wrong = [...judgement.wrong]
  if (!wasFailedCheckObserved(fault, ledger)) wrong.push(`health: ${fault.failingCheck} never failed`)
  for (const { name, isRunning } of [...system.stack.auth, ...system.stack.resource]) {
    if (!isRunning) wrong.push(`${name} exited during the run`)
  }
  wrong.push(...((await fault.finish?.(system, ledger)) ?? []))
  const lost = await checkAcknowledged(origin, ledger, startedAt)
  return {
    ...judgement,
    wrong,
    fault: fault.name,
    numbers: fault.numbers,
    lost: [...lost, ...(await findAgentsWithoutCredentials(system))],
  }
}

/** Creates the result of a fault whose scenario threw. The run continues with the other faults. */
export function createFailedResult({ name, numbers }: FaultCase, error: unknown): FaultResult {
  const wrong = [`the scenario failed: ${error instanceof Error ? error.message : String(error)}`]
  const counts = { requests: 0, good: 0, refused: 0, excused: 0, outcomes: new Map<string, number>() }
  const times = { firstGoodSeconds: undefined, slowestSeconds: 0, shedSeconds: undefined }
  return { fault: name, numbers, wrong, lost: [], ...counts, ...times }
}

/** The maximum duration of a fault whose required effects have not been observed. */
const MAX_UNOBSERVED_MS = 20_000

const wasFailedCheckObserved = ({ failingCheck }: FaultCase, { health }: Ledger) =>
  failingCheck === undefined || health.has(`${failingCheck} failed`)

const extendPhases = (traffic: Traffic, minSeconds: Phases = traffic): Traffic => ({
  rate: traffic.rate,
  steady: Math.max(traffic.steady, minSeconds.steady),
  held: Math.max(traffic.held, minSeconds.held),
  recovery: Math.max(traffic.recovery, minSeconds.recovery),
})

/** Runs the phases of a fault under load. Returns the requests, the stalls, and when the fault began and ended. */
async function injectUnderLoad(
  system: FaultyStack,
  ledger: Ledger,
  fault: FaultCase,
  { rate, ...seconds }: Traffic,
): Promise<Pick<Load, 'entries' | 'stalls'> & { faultedAt: number; repairedAt: number }> {
  await using load = startLoad({
    origin: system.stack.origin,
    ledger,
    rate,
    retries: fault.retries ?? 0,
  })
  await load.waitUntilSent(seconds.steady * rate)
  ledger.health.clear()
  const faultedAt = performance.now()
  await fault.begin(system, ledger)
  await load.waitUntilSent(seconds.held * rate)
  const isObserved = () =>
    (fault.isObserved?.() ?? true) &&
    wasFailedCheckObserved(fault, ledger) &&
    findUnseenRefusals(load.entries, { ...fault, faultedAt }).length === 0
  while (!isObserved() && performance.now() < faultedAt + MAX_UNOBSERVED_MS) await load.waitUntilSent(10)
  await fault.end(system, ledger)
  const repairedAt = performance.now()
  const listUnrecovered = () =>
    listAffected(fault.components).filter(
      (name) => findFirstGoodAt(load.entries, name, repairedAt) === undefined,
    )
  while (listUnrecovered().length > 0 && performance.now() < repairedAt + 2 * (fault.graceMs ?? GRACE_MS))
    await load.waitUntilSent(10)
  await load.waitUntilSent(seconds.recovery * rate)
  return { entries: load.entries, stalls: load.stalls, faultedAt, repairedAt }
}

/** Returns a line if active agents have neither a secret nor keys. The agent of a person's connection needs none. */
async function findAgentsWithoutCredentials({ admin }: FaultyStack): Promise<string[]> {
  const { rowCount } = await admin.auth.query(
    `select id from agents where status = 'active' and jwks is null and app_client_id is null and not exists (select from agent_secrets where agent_id = agents.id)`,
  )
  return rowCount === 0 ? [] : [`agents without credentials: ${rowCount}`]
}
