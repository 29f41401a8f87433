import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadCodeUnderTest, MUTANTS } from './mutants.ts'
import { arbitraryPlan, samplePlan } from './plan.ts'
import { simulate } from './simulation.ts'

/** The number of runs. Each simulates 30 s with about fifty revocations. Before a release, run with REVOCATION_RUNS=2000. */
const RUNS = Number(process.env['REVOCATION_RUNS'] ?? 60)

test(`R-LIN holds in ${RUNS} schedules of delays, faults and lost stores, over at least 2 000 revocations`, {
  timeout: 600_000,
}, async () => {
  const codeUnderTest = await loadCodeUnderTest(undefined)
  const totals = { revocations: 0, accepted: 0, acceptedFromCache: 0 }
  const property = fc.property(arbitraryPlan, (plan) => {
    const { violations, ...counts } = simulate(codeUnderTest, plan)
    for (const [name, count] of Object.entries(counts)) totals[name as keyof typeof totals] += count
    expect(violations).toEqual([])
  })
  // The seed is fixed, so a failure is the same in each run.
  fc.assert(property, { numRuns: RUNS, seed: 20_261_120 })
  process.stdout.write(`\n${RUNS} schedules: ${JSON.stringify(totals)}\n`)
  expect(totals.revocations).toBeGreaterThanOrEqual(2_000)
  // Without cached introspections R-LIN would hold trivially.
  expect(totals.acceptedFromCache).toBeGreaterThan(totals.accepted / 2)
})

test.for(MUTANTS)('R-LIN fails with a mutant, and holds without it, for its seed: $name', async (mutant) => {
  const plan = samplePlan(mutant.seed)
  expect(simulate(await loadCodeUnderTest(mutant), plan).violations).not.toEqual([])
  expect(simulate(await loadCodeUnderTest(undefined), plan).violations).toEqual([])
})
