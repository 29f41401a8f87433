import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MUTANTS, partsWith } from './mutants.ts'
import { planOf, plans } from './plan.ts'
import { simulate } from './simulation.ts'

/** Each is half a minute of virtual time with some fifty revocations: REVOCATION_RUNS=2000 before a release. */
const RUNS = Number(process.env['REVOCATION_RUNS'] ?? 60)

test(`R-LIN holds in ${RUNS} schedules of delays, faults and lost stores, over at least 2 000 revocations`, {
  timeout: 600_000,
}, async () => {
  const parts = await partsWith(undefined)
  const all = { revocations: 0, granted: 0, fromMemory: 0 }
  const holds = fc.property(plans, (plan) => {
    const { violations, ...counted } = simulate(parts, plan)
    for (const [name, count] of Object.entries(counted)) all[name as keyof typeof all] += count
    expect(violations).toEqual([])
  })
  fc.assert(holds, { numRuns: RUNS, seed: 20_261_120 })
  process.stdout.write(`\n${RUNS} schedules: ${JSON.stringify(all)}\n`)
  expect(all.revocations).toBeGreaterThanOrEqual(2_000)
  // It would hold without a memory, too.
  expect(all.fromMemory).toBeGreaterThan(all.granted / 2)
})

test.for(MUTANTS)('a safeguard taken away shows on its seed: $name', async (mutant) => {
  const plan = planOf(mutant.seed)
  expect(simulate(await partsWith(mutant), plan).violations).not.toEqual([])
  expect(simulate(await partsWith(undefined), plan).violations).toEqual([])
})
