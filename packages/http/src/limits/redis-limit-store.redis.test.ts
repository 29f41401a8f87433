import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import { createLog } from '../observability/log.ts'
import {
  describeLimitStore,
  describeSharedLimitStore,
  type LimitStoreUnderTest,
} from './limit-store.contract.ts'
import type { LimitStore } from './limit-store.ts'
import { createLimiter } from './limiter.ts'
import type { SharedLimitStore } from './prefetching-limit-store.ts'
import { createRedisLimitStore, type LimitRedisClient } from './redis-limit-store.ts'

const redisUrl = inject('redisUrl') ?? ''

interface OpenedClient extends AsyncDisposable {
  readonly redis: LimitRedisClient
}

const adaptIoredis = (client: Redis): LimitRedisClient => ({
  eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  get: (key) => client.get(key),
  setIfAbsent: (key, value, seconds) => client.set(key, value, 'EX', seconds, 'NX'),
})

/** The apps wait 200 ms for a reply, but a machine that runs tests may be busy for longer. */
const TIMEOUT_MS = 3_000

/**
 * Functions that open each client, with the options that `LimitRedisClient` recommends. In addition, both reconnect after 50 ms,
 * and ioredis pipelines commands of one tick. The recommended timer for each command is missing. Instead, each client uses its
 * own timeout. That of `redis` does not cover the wait for a reply.
 */
const CLIENTS: Record<string, (serverUrl: string, timeoutMs?: number) => Promise<OpenedClient>> = {
  async ioredis(serverUrl, timeoutMs = TIMEOUT_MS) {
    const client = new Redis(serverUrl, {
      enableOfflineQueue: false,
      enableAutoPipelining: true,
      commandTimeout: timeoutMs,
      connectTimeout: 1_000,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 50,
    })
    client.on('error', () => {})
    await once(client, 'ready')
    return { redis: adaptIoredis(client), [Symbol.asyncDispose]: async () => client.disconnect() }
  },
  async redis(serverUrl, timeoutMs = TIMEOUT_MS) {
    const client = createClient({
      url: serverUrl,
      disableOfflineQueue: true,
      commandOptions: { timeout: timeoutMs },
      socket: { connectTimeout: 1_000, reconnectStrategy: () => 50 },
    })
    client.on('error', () => {})
    await client.connect()
    const redis: LimitRedisClient = {
      eval: (script, keys, args) => client.eval(script, { keys, arguments: args }),
      get: (key) => client.get(key),
      setIfAbsent: (key, value, seconds) =>
        client.set(key, value, { condition: 'NX', expiration: { type: 'EX', value: seconds } }),
    }
    return { redis, [Symbol.asyncDispose]: async () => client.destroy() }
  },
}

/**
 * Returns a random key prefix, an admin client, and a function that lists the keys with the prefix. Disposing deletes these
 * keys.
 */
function createKeySpace() {
  const admin = new Redis(redisUrl)
  const prefix = `plainpath_test_${randomBytes(8).toString('hex')}:`
  const listKeys = async (): Promise<string[]> => {
    const keys: string[] = []
    // A scan also visits the keys of other tests, so a large count saves round trips.
    for await (const batch of admin.scanStream({ match: `${prefix}*`, count: 10_000 }))
      keys.push(...(batch as string[]))
    return keys
  }
  return {
    admin,
    prefix,
    listKeys,
    async [Symbol.asyncDispose]() {
      const keys = await listKeys()
      if (keys.length > 0) await admin.del(keys)
      admin.disconnect()
    },
  }
}

/** The parts of a count, in the format of the Lua script in `redis-limit-store.ts`. */
const StoredParts = z
  .string()
  .regex(/^\[\[/)
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(z.array(z.tuple([z.number(), z.number(), z.number()])))

/** Moves the times of a count's parts, and its expiry, back by `ms`. Does nothing to a key that holds no count. */
async function shiftIntoPast(admin: Redis, key: string, ms: number): Promise<void> {
  const ttl = await admin.pttl(key)
  const parsedParts = StoredParts.safeParse(await admin.get(key))
  if (!parsedParts.success) return
  const parts = parsedParts.data.map(([firstAt, lastAt, count]) => [firstAt - ms, lastAt - ms, count])
  await admin.set(key, JSON.stringify(parts), 'PX', Math.max(1, ttl - ms))
}

async function setUpStores(
  openClient: (serverUrl: string) => Promise<OpenedClient>,
): Promise<LimitStoreUnderTest & { readonly store: SharedLimitStore }> {
  await using opening = new AsyncDisposableStack()
  const keySpace = opening.use(createKeySpace())
  const firstClient = opening.use(await openClient(redisUrl))
  const otherClient = opening.use(await openClient(redisUrl))
  const resources = opening.move()
  return {
    store: createRedisLimitStore(firstClient.redis, keySpace.prefix),
    sameStore: createRedisLimitStore(otherClient.redis, keySpace.prefix),
    async advance(seconds) {
      for (const key of await keySpace.listKeys()) await shiftIntoPast(keySpace.admin, key, seconds * 1000)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

for (const [name, openClient] of Object.entries(CLIENTS)) {
  describeLimitStore(name, () => setUpStores(openClient))
  describeSharedLimitStore(name, () => setUpStores(openClient))
}

test('counts with ioredis auto-pipelining, in the same tick as another command', async () => {
  await using keySpace = createKeySpace()
  await using client = Object.assign(new Redis(redisUrl, { enableAutoPipelining: true }), {
    [Symbol.asyncDispose]: async () => client.disconnect(),
  })
  await once(client, 'ready')
  const store = createRedisLimitStore(adaptIoredis(client), keySpace.prefix)
  const otherReply = client.get(`${keySpace.prefix}nothing`)
  const pendingCount = store.take('key', { name: 'first', quota: 2, windowSeconds: 60 })
  await expect(Promise.all([otherReply, pendingCount])).resolves.toMatchObject([
    null,
    { allowed: true, remaining: 1 },
  ])
})

const silentLog = createLog({ service: 'test', write: () => {} })
const createLimiterFor = (store: LimitStore, now = () => new Date()) =>
  createLimiter({ store, factor: 1, now, log: silentLog })

describe.for(Object.entries(CLIENTS))('a limiter on %s', ([, openClient]) => {
  const policy = { name: 'writes', quota: 2, windowSeconds: 60 }

  test('stores no IP address, e-mail address or client id in any key or value, and lets every key expire', async () => {
    await using keySpace = createKeySpace()
    await using openedClient = await openClient(redisUrl)
    // At noon, no window reaches back to the day before, so nothing is counted under yesterday's key.
    const limiter = createLimiterFor(
      createRedisLimitStore(openedClient.redis, keySpace.prefix),
      () => new Date('2026-11-21T12:00:00Z'),
    )
    await limiter.takeForAddress(policy, '203.0.113.77')
    await limiter.takeForAddress(policy, '2001:db8:aa:bb::77')
    await limiter.take(policy, 'canary@example.org')
    await limiter.take(policy, 'agt_canary')
    const keys = await keySpace.listKeys()
    const values = await Promise.all(keys.map((key) => keySpace.admin.get(key)))
    // Five counts, two of them for the IPv6 address, and the daily key.
    expect(keys).toHaveLength(6)
    expect(JSON.stringify([keys, values])).not.toMatch(/203\.0|113\.77|:db8|canary|example/)
    const ttls = await Promise.all(keys.map((key) => keySpace.admin.ttl(key)))
    for (const ttl of ttls) expect(ttl).toBeGreaterThan(0)
  })

  test('counts each of 20 policies exactly when all are first used at the same moment', async () => {
    await using keySpace = createKeySpace()
    await using openedClient = await openClient(redisUrl)
    const limiter = createLimiterFor(createRedisLimitStore(openedClient.redis, keySpace.prefix))
    const states = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        limiter.take({ ...policy, name: `policy-${index % 20}` }, 'subject'),
      ),
    )
    expect(states.filter(({ allowed }) => allowed)).toHaveLength(40)
  })

  test.for([
    ['line breaks', 'a\r\nFLUSHALL\r\n'],
    ['a hash tag', '{auth:token}'],
    ['wildcards', '*[a-z]?'],
    ['code that would end a script', `']]) redis.call('FLUSHALL') --`],
    ['a NUL and characters beyond ASCII', '\u0000\u00ff\u{1f600}'],
    ['64 KiB of text', 'x'.repeat(65_536)],
  ] satisfies [string, string][])('counts a key that contains %s', async ([_description, key]) => {
    await using keySpace = createKeySpace()
    await using openedClient = await openClient(redisUrl)
    const store = createRedisLimitStore(openedClient.redis, keySpace.prefix)
    const otherKey = `${key}x`
    const counts = [
      await store.take(key, policy),
      await store.take(key, policy),
      await store.take(key, policy),
    ]
    expect(counts.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect((await store.take(otherKey, policy)).allowed).toBe(true)
    expect(await keySpace.listKeys()).toHaveLength(2)
  })

  test('restores the expiry of a count that lost it', async () => {
    await using keySpace = createKeySpace()
    await using openedClient = await openClient(redisUrl)
    const store = createRedisLimitStore(openedClient.redis, keySpace.prefix)
    await store.take('key', policy)
    const keys = await keySpace.listKeys()
    for (const key of keys) await keySpace.admin.persist(key)
    await store.take('key', policy)
    for (const key of keys) expect(await keySpace.admin.ttl(key)).toBeGreaterThan(0)
  })

  test('counts in memory while Redis is down, and in Redis again afterwards', async () => {
    await using keySpace = createKeySpace()
    await using proxy = await startTcpProxy(redisUrl)
    await using openedClient = await openClient(proxy.url)
    let nowMs = Date.now()
    const store = createRedisLimitStore(openedClient.redis, keySpace.prefix)
    const limiter = createLimiterFor(store, () => new Date(nowMs))
    expect(await limiter.take(policy, 'subject')).toMatchObject({ allowed: true, remaining: 1 })
    await proxy.cut()
    expect(await limiter.take(policy, 'subject')).toMatchObject({ allowed: true, remaining: 1 })
    await expect(limiter.take({ ...policy, failsClosed: true }, 'subject')).rejects.toMatchObject({
      code: 'unavailable',
    })
    await proxy.restore()
    // Only Redis can count for a policy that fails closed. Its count includes the request from before the outage.
    const largerPolicy = { ...policy, quota: 1_000 }
    await expect
      .poll(async () => (await limiter.take({ ...largerPolicy, failsClosed: true }, 'subject')).remaining)
      .toBe(998)
    // A second after the last failure, Redis also counts for other policies. In memory, 998 would remain.
    nowMs += 1_001
    expect((await limiter.take(largerPolicy, 'subject')).remaining).toBe(997)
  })
})

describe('a Redis that stops replying', () => {
  const policy = { name: 'reads', quota: 100, windowSeconds: 60 }

  test('delays the first request by 0.2 s with ioredis, but not the next five', async () => {
    await using keySpace = createKeySpace()
    await using proxy = await startTcpProxy(redisUrl)
    await using openedClient = await CLIENTS['ioredis']?.(proxy.url, 200)
    if (!openedClient) throw new Error('no client')
    const limiter = createLimiterFor(createRedisLimitStore(openedClient.redis, keySpace.prefix))
    proxy.silence()
    const waitsMs = []
    for (const subject of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const startedAt = performance.now()
      expect((await limiter.take(policy, subject)).allowed).toBe(true)
      waitsMs.push(performance.now() - startedAt)
    }
    expect(waitsMs[0]).toBeGreaterThan(150)
    expect(waitsMs[0]).toBeLessThan(2_000)
    // Each would take 200 ms if Redis were called. A busy machine may delay one of them.
    expect(waitsMs.slice(1).filter((waitMs) => waitMs > 150).length).toBeLessThanOrEqual(1)
  })

  test('delays no request while ioredis is still connecting', async () => {
    await using keySpace = createKeySpace()
    await using proxy = await startTcpProxy(redisUrl)
    proxy.silence()
    await using client = Object.assign(
      // The timeout is longer than that of the apps, so that a busy machine does not exceed the limit below.
      new Redis(proxy.url, { enableOfflineQueue: false, commandTimeout: 5_000, connectTimeout: 1_000 }),
      { [Symbol.asyncDispose]: async () => client.disconnect() },
    )
    client.on('error', () => {})
    let nowMs = Date.now()
    const store = createRedisLimitStore(adaptIoredis(client), keySpace.prefix)
    const limiter = createLimiterFor(store, () => new Date(nowMs))
    const startedAt = performance.now()
    for (const subject of ['a', 'b', 'c', 'd', 'e']) {
      expect((await limiter.take(policy, subject)).allowed).toBe(true)
      // Ends the pause after the failure, so that the next request tries Redis again.
      nowMs += 1_001
    }
    // Each would take 5 s if its command were queued or sent.
    expect(performance.now() - startedAt).toBeLessThan(2_500)
  })
})
