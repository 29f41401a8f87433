import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

/** Longer than the authority may take to answer. */
const CLAIM_TTL_SECONDS = 10

/** Writes the value only where the claim still stands: nobody raised, and nothing was lost, since it was made. */
const SETTLE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end`

/** What the authority says, kept in Redis for `ttlSeconds`. */
export function redisMirror(redis: Redis, ttlSeconds: number) {
  return {
    /** The authority may answer late, so what it says is kept only under a claim made before it was asked. */
    async askAuthority<T>(
      key: string,
      ask: () => Promise<T>,
      write: (answer: NonNullable<T>) => string,
    ): Promise<T> {
      const claim = `claimed ${randomUUID()}`
      const claimed = await redis.set(key, claim, 'EX', CLAIM_TTL_SECONDS, 'NX')
      const answer = await ask()
      if (claimed && answer !== undefined && answer !== null)
        await redis.eval(SETTLE, 1, key, claim, write(answer), ttlSeconds)
      return answer
    },
  }
}
