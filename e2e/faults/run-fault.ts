import { checkAcknowledged } from './check-acknowledged.ts'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { affectedBy, firstGoodAfter, GRACE_MS, type Judgement, judge } from './judge.ts'
import type { Ledger } from './ledger.ts'
import { type Load, startLoad } from './load.ts'

export const RATE = 100

export interface FaultResult extends Judgement {
  readonly fault: string
  /** What was acknowledged and is gone, or was ended and lives. */
  readonly lost: readonly string[]
}

/**
 * Puts one fault on the stack under traffic: some requests before, `held` while it lasts, and some until everything has
 * been answered well again; then holds what was acknowledged against the stores.
 */
export async function runFault(
  system: FaultyStack,
  ledger: Ledger,
  fault: FaultCase,
  held: number,
): Promise<FaultResult> {
  const { origin } = system.stack
  const startedAt = performance.now()
  const { entries, ...facts } = await underLoad(system, ledger, fault, held)
  const judgement = judge(entries, { ...fault, ...facts })
  const { failsCheck } = fault
  const wrong = [...judgement.wrong]
  if (failsCheck && !ledger.health.has(`${failsCheck} failed`))
    wrong.push(`health: ${failsCheck} never failed`)
  for (const { name, running } of [...system.stack.auth, ...system.stack.resource]) {
    if (!running) wrong.push(`${name} ended`)
  }
  const lost = await checkAcknowledged(origin, ledger, startedAt)
  return { ...judgement, wrong, fault: fault.name, lost: [...lost, ...(await halfRows(system))] }
}

async function underLoad(
  system: FaultyStack,
  ledger: Ledger,
  fault: FaultCase,
  held: number,
): Promise<Pick<Load, 'entries' | 'stalls'> & { faultedAt: number; backAt: number }> {
  await using load = startLoad({ origin: system.stack.origin, ledger, rate: RATE })
  await load.sent(50)
  ledger.health.clear()
  const faultedAt = performance.now()
  await fault.begin(system, ledger)
  await load.sent(held)
  await fault.end(system, ledger)
  const backAt = performance.now()
  const waiting = () =>
    affectedBy(fault.parts).filter((name) => firstGoodAfter(load.entries, name, backAt) === undefined)
  while (waiting().length > 0 && performance.now() < backAt + 2 * GRACE_MS) await load.sent(10)
  await load.sent(50)
  return { entries: load.entries, stalls: load.stalls, faultedAt, backAt }
}

/** No half of a registration is kept. */
async function halfRows({ admin }: FaultyStack): Promise<string[]> {
  const { rowCount } = await admin.auth.query(
    `select id from agents where status = 'active' and not exists (select from agent_secrets where agent_id = agents.id)`,
  )
  return rowCount === 0 ? [] : [`agents without a secret: ${rowCount}`]
}
