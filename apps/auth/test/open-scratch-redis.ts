import { randomBytes } from 'node:crypto'
import { createLog } from '@plainpath/http'
import type { RevocationOptions } from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import { inject } from 'vitest'
import { openRedis } from '../src/tokens/open-redis.ts'

/** A part of the test server's keys that is this test's alone; disposing removes it. */
export interface ScratchRedis extends AsyncDisposable {
  readonly url: string
  readonly redis: Redis
  /** The random prefix of every key. */
  readonly prefix: string
  /** A channel of this test's own, with leases so short that no test waits for one. */
  readonly revocation: RevocationOptions
  keys(pattern?: string): Promise<string[]>
  /** Forgets the keys that match, as a flushed or restarted Redis has; by default all of ours. */
  lose(pattern?: string): Promise<void>
  /** Keys and values, as text. */
  dump(): Promise<string>
}

export async function openScratchRedis(): Promise<ScratchRedis> {
  const url = inject('redisUrl')
  if (!url) throw new Error('this test needs TEST_REDIS_URL')
  const redis = await openRedis(url, createLog({ service: 'test', write: () => undefined }), 3_000)
  const prefix = `plainpath-test-${randomBytes(8).toString('hex')}:`
  async function keys(pattern = '*') {
    const found: string[] = []
    for await (const batch of redis.scanStream({ match: prefix + pattern, count: 1_000 }))
      found.push(...(batch as string[]))
    return found
  }
  async function lose(pattern?: string) {
    const found = await keys(pattern)
    if (found.length > 0) await redis.del(found)
  }
  return {
    url,
    redis,
    prefix,
    revocation: { name: `${prefix}revocation`, intervals: { leaseMs: 100, renewMs: 25, marginMs: 20 } },
    keys,
    lose,
    async dump() {
      const found = await keys()
      const read = async (key: string) =>
        (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : redis.get(key)
      return (await Promise.all(found.map(async (key) => `${key} ${await read(key)}`))).join('\n')
    },
    async [Symbol.asyncDispose]() {
      await lose()
      await redis[Symbol.asyncDispose]()
    },
  }
}
