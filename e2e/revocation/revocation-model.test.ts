import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadParts, MUTANTS } from './mutants.ts'
import { plans, samplePlan } from './plan.ts'
import { simulate } from './simulation.ts'

/** Each run is 30 s of virtual time with about fifty revocations. Before a release: REVOCATION_RUNS=2000. */
const RUNS = Number(process.env['REVOCATION_RUNS'] ?? 60)

test(`R-LIN holds in ${RUNS} schedules of delays, faults and lost stores, over at least 2 000 revocations`, {
  timeout: 600_000,
}, async () => {
  const parts = await loadParts(undefined)
  const all = { revocations: 0, granted: 0, fromMemory: 0 }
  const holds = fc.property(plans, (plan) => {
    const { violations, ...counted } = simulate(parts, plan)
    for (const [name, count] of Object.entries(counted)) all[name as keyof typeof all] += count
    expect(violations).toEqual([])
  })
  fc.assert(holds, { numRuns: RUNS, seed: 20_261_120 })
  process.stdout.write(`\n${RUNS} schedules: ${JSON.stringify(all)}\n`)
  expect(all.revocations).toBeGreaterThanOrEqual(2_000)
  // Without cached introspections R-LIN would hold trivially.
  expect(all.fromMemory).toBeGreaterThan(all.granted / 2)
})

test.for(MUTANTS)('R-LIN fails, for the seed of the mutant, without a safeguard: $name', async (mutant) => {
  const plan = samplePlan(mutant.seed)
  expect(simulate(await loadParts(mutant), plan).violations).not.toEqual([])
  expect(simulate(await loadParts(undefined), plan).violations).toEqual([])
})
