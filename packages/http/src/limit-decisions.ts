import type { Registry } from 'prom-client'
import { talliedCounter } from './tallied-counter.ts'

export type Decision = 'allowed' | 'refused' | 'uncounted'

/**
 * Counts what rate limits decide, here, and tells the library when it is asked: it makes a text of the labels for each
 * count, and of these there are two or three for every request.
 */
export function limitDecisions(registry: Registry): (policy: string, decision: Decision) => void {
  const decided = new Map<string, Record<Decision, number>>()
  talliedCounter(registry, {
    name: 'limit_decisions_total',
    help: 'Requests counted by a rate limit, by policy and decision',
    labelNames: ['policy', 'decision'],
    *read() {
      for (const [policy, counts] of decided)
        for (const [decision, count] of Object.entries(counts))
          if (count > 0) yield [{ policy, decision }, count]
    },
  })
  return (policy, decision) => {
    const counts = decided.get(policy) ?? { allowed: 0, refused: 0, uncounted: 0 }
    counts[decision] += 1
    decided.set(policy, counts)
  }
}
