import fc from 'fast-check'
import { LENGTH_MS, type Plan } from './simulation.ts'

const KINDS = ['cut', 'half-open', 'pause', 'slow', 'flush', 'restart', 'failover'] as const

/** Generates schedules of faults, each with a seed for all other choices. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  seed: fc.nat(),
  faults: fc.array(
    fc.record({
      at: fc.nat(LENGTH_MS),
      kind: fc.constantFrom(...KINDS),
      ms: fc.nat(3_000),
      member: fc.nat(1),
    }),
    { maxLength: 12 },
  ),
})

/** Returns the plan for a seed. */
export const samplePlan = (seed: number): Plan => fc.sample(plans, { seed, numRuns: 1 })[0]!
