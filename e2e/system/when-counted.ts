import type { Stack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { metric } from '../faults/operations-listener.ts'

const ROUNDS = 5

/**
 * Runs `body` again when it failed while a process counted limits by itself, because Redis did not answer in time: then it
 * says nothing about limits in Redis. The metrics tell. What Redis counted is deleted before.
 *
 * @throws what `body` throws when all was counted in Redis, or in the last round
 */
export async function whenCounted(stack: Stack, body: () => Promise<void>): Promise<void> {
  for (let round = 1; ; round += 1) {
    const before = await uncounted(stack)
    try {
      return await body()
    } catch (error) {
      if (round === ROUNDS || (await uncounted(stack)) === before) throw error
      process.stdout.write(`\nRound ${round} is void: a process counted limits by itself.\n`)
      await forgetCounts(stack)
    }
  }
}

/** How many decisions about limits all processes have made by themselves. */
async function uncounted({ auth, resource }: Stack): Promise<number> {
  const counts = await Promise.all(
    [...auth, ...resource].map((app) => metric(app, 'limit_decisions_total', 'decision="uncounted"')),
  )
  // A process that has counted nothing by itself has no such series.
  return counts.reduce((sum, count) => sum + (count || 0), 0)
}

async function forgetCounts({ redis }: Stack): Promise<void> {
  const admin = new Redis(redis.adminUrl)
  try {
    const keys = await admin.keys('*:limit:*')
    if (keys.length > 0) await admin.del(keys)
  } finally {
    admin.disconnect()
  }
}
