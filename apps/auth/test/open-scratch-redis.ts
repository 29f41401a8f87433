import { randomBytes } from 'node:crypto'
import { createLog } from '@plainpath/http'
import type { RevocationOptions } from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import { inject } from 'vitest'
import { openRedis } from '../src/open-redis.ts'

/** A connection to the Redis of the test run, and a prefix for the keys of one test. Disposing deletes these keys. */
export interface ScratchRedis extends AsyncDisposable {
  readonly url: string
  readonly redis: Redis
  /** The random prefix of every key. */
  readonly prefix: string
  /** A separate channel for revocations, whose leases last only 100 ms so that tests need not wait long for their end. */
  readonly revocation: RevocationOptions
  /** Lists the keys under the prefix, by default all. The pattern applies to what follows the prefix. */
  listKeys(pattern?: string): Promise<string[]>
  /** Deletes the keys that `listKeys` returns for the pattern, as if Redis had lost them. */
  loseKeys(pattern?: string): Promise<void>
  /** Returns the keys under the prefix with their values, as text. */
  dump(): Promise<string>
}

/** Connects to the Redis of the test run. Throws if the run has none (`TEST_REDIS_URL`). */
export async function openScratchRedis(): Promise<ScratchRedis> {
  const url = inject('redisUrl')
  if (!url) throw new Error('this test needs TEST_REDIS_URL')
  const redis = await openRedis(url, createLog({ service: 'test', write: () => undefined }), 3_000)
  const prefix = `plainpath-test-${randomBytes(8).toString('hex')}:`
  async function listKeys(pattern = '*') {
    const names: string[] = []
    for await (const batch of redis.scanStream({ match: prefix + pattern, count: 1_000 }))
      names.push(...(batch as string[]))
    return names
  }
  async function loseKeys(pattern?: string) {
    const names = await listKeys(pattern)
    if (names.length > 0) await redis.del(names)
  }
  return {
    url,
    redis,
    prefix,
    revocation: { name: `${prefix}revocation`, intervals: { leaseMs: 100, renewMs: 25, marginMs: 20 } },
    listKeys,
    loseKeys,
    async dump() {
      const names = await listKeys()
      const readValue = async (key: string) =>
        (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : redis.get(key)
      return (await Promise.all(names.map(async (key) => `${key} ${await readValue(key)}`))).join('\n')
    },
    async [Symbol.asyncDispose]() {
      await loseKeys()
      await redis[Symbol.asyncDispose]()
    },
  }
}
