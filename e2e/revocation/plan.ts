import fc from 'fast-check'
import { DURATION_MS, type Plan } from './simulation.ts'

const FAULT_KINDS = ['cut', 'half-open', 'pause', 'slow', 'flush', 'restart', 'failover'] as const

/** Generates schedules of faults, each with a seed for all other choices. */
export const arbitraryPlan: fc.Arbitrary<Plan> = fc.record({
  seed: fc.nat(),
  faults: fc.array(
    fc.record({
      at: fc.nat(DURATION_MS),
      kind: fc.constantFrom(...FAULT_KINDS),
      // Up to 3 s, so that a pause can outlast a lease.
      ms: fc.nat(3_000),
      // There are two API processes.
      apiIndex: fc.nat(1),
    }),
    { maxLength: 12 },
  ),
})

/** Returns the plan that fast-check generates first for a seed. */
export const samplePlan = (seed: number): Plan => fc.sample(arbitraryPlan, { seed, numRuns: 1 })[0]!
