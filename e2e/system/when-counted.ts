import type { Stack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { metric } from '../faults/operations-listener.ts'

const ROUNDS = 5

/**
 * Runs `body` again if it failed while a process counted limits in memory because Redis was too slow: then the failure
 * says nothing about limits in Redis. A metric shows this. The counts in Redis are deleted first.
 *
 * @throws what `body` throws if all limits were counted in Redis, or in the last attempt
 */
export async function whenCounted(stack: Stack, body: () => Promise<void>): Promise<void> {
  for (let round = 1; ; round += 1) {
    const uncountedBefore = await countUncounted(stack)
    try {
      return await body()
    } catch (error) {
      if (round === ROUNDS || (await countUncounted(stack)) === uncountedBefore) throw error
      process.stdout.write(`\nRound ${round} is void: a process counted limits by itself.\n`)
      await deleteCounts(stack)
    }
  }
}

/** Counts the decisions about limits that processes made without Redis. */
async function countUncounted({ auth, resource }: Stack): Promise<number> {
  const counts = await Promise.all(
    [...auth, ...resource].map((app) => metric(app, 'limit_decisions_total', 'decision="uncounted"')),
  )
  // A process without such decisions does not export the series.
  return counts.reduce((sum, count) => sum + (count || 0), 0)
}

async function deleteCounts({ redis }: Stack): Promise<void> {
  const admin = new Redis(redis.adminUrl)
  try {
    const keys = await admin.keys('*:limit:*')
    if (keys.length > 0) await admin.del(keys)
  } finally {
    admin.disconnect()
  }
}
