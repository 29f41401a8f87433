import type { Stack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { readMetric } from '../faults/read-operations.ts'

const MAX_ROUNDS = 5

/**
 * Runs `body`. While Redis is too slow, a process counts limits by itself. A failure of `body` at such a time says nothing about
 * limits in Redis, so this deletes the counts in Redis and runs `body` again.
 *
 * @throws the error of `body`, if Redis counted all limits during the round, or if the fifth round fails
 */
export async function repeatIfUncounted(stack: Stack, body: () => Promise<void>): Promise<void> {
  for (let round = 1; ; round += 1) {
    const uncountedBefore = await countLocalDecisions(stack)
    try {
      return await body()
    } catch (error) {
      if (round === MAX_ROUNDS || (await countLocalDecisions(stack)) === uncountedBefore) throw error
      process.stdout.write(`\nRound ${round} is void: a process counted limits by itself.\n`)
      await deleteCounts(stack)
    }
  }
}

/** Counts the decisions about limits that processes made without Redis. */
async function countLocalDecisions({ auth, resource }: Stack): Promise<number> {
  const counts = await Promise.all(
    [...auth, ...resource].map((app) => readMetric(app, 'limit_decisions_total', 'decision="uncounted"')),
  )
  // A process without such decisions does not export the series, and `readMetric` returns NaN.
  return counts.reduce((sum, count) => sum + (count || 0), 0)
}

/** Deletes the counts of all limits of both apps, so that the next round starts with full quotas. */
async function deleteCounts({ redis }: Stack): Promise<void> {
  const admin = new Redis(redis.adminUrl)
  try {
    const keys = await admin.keys('*:limit:*')
    if (keys.length > 0) await admin.del(keys)
  } finally {
    admin.disconnect()
  }
}
