import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import { createLog } from '../observability/log.ts'
import { describeLimitStore, type LimitStoreUnderTest } from './limit-store.contract.ts'
import type { LimitStore } from './limit-store.ts'
import { createLimiter } from './limiter.ts'
import { createRedisLimitStore, type LimitRedisClient } from './redis-limit-store.ts'

const url = inject('redisUrl') ?? ''

interface Opened extends AsyncDisposable {
  readonly redis: LimitRedisClient
}

const withIoredis = (client: Redis): LimitRedisClient => ({
  eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  get: (key) => client.get(key),
  setIfAbsent: (key, value, seconds) => client.set(key, value, 'EX', seconds, 'NX'),
})

/** The apps wait for 200 ms; a machine that runs tests may be busy for longer. */
const TIMEOUT_MS = 3_000

/** Both clients, with the options that `LimitRedisClient` asks for. */
const CLIENTS: Record<string, (url: string, timeoutMs?: number) => Promise<Opened>> = {
  async ioredis(at, timeoutMs = TIMEOUT_MS) {
    const client = new Redis(at, {
      enableOfflineQueue: false,
      enableAutoPipelining: true,
      commandTimeout: timeoutMs,
      connectTimeout: 1_000,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 50,
    })
    client.on('error', () => {})
    await once(client, 'ready')
    return { redis: withIoredis(client), [Symbol.asyncDispose]: async () => client.disconnect() }
  },
  async redis(at, timeoutMs = TIMEOUT_MS) {
    const client = createClient({
      url: at,
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

/** Keys that begin with something random, seen as an operator sees them, and gone at the end. */
function openKeySpace() {
  const admin = new Redis(url)
  const prefix = `plainpath_test_${randomBytes(8).toString('hex')}:`
  const list = async (): Promise<string[]> => {
    const keys: string[] = []
    for await (const found of admin.scanStream({ match: `${prefix}*` })) keys.push(...(found as string[]))
    return keys
  }
  return {
    admin,
    prefix,
    list,
    async [Symbol.asyncDispose]() {
      const keys = await list()
      if (keys.length > 0) await admin.del(keys)
      admin.disconnect()
    },
  }
}

/** Lets time pass for a count: its parts and its end move back. */
async function makeOlder(admin: Redis, key: string, ms: number): Promise<void> {
  const ttl = await admin.pttl(key)
  const counted = Parts.safeParse(await admin.get(key))
  if (!counted.success) return
  const parts = counted.data.map(([from, last, count]) => [from - ms, last - ms, count])
  await admin.set(key, JSON.stringify(parts), 'PX', Math.max(1, ttl - ms))
}
const Parts = z
  .string()
  .regex(/^\[\[/)
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(z.array(z.tuple([z.number(), z.number(), z.number()])))

async function openStore(openClient: (url: string) => Promise<Opened>): Promise<LimitStoreUnderTest> {
  await using opening = new AsyncDisposableStack()
  const keys = opening.use(openKeySpace())
  const [one, other] = [opening.use(await openClient(url)), opening.use(await openClient(url))]
  const resources = opening.move()
  return {
    store: createRedisLimitStore(one.redis, keys.prefix),
    sameStore: createRedisLimitStore(other.redis, keys.prefix),
    async advance(seconds) {
      for (const key of await keys.list()) await makeOlder(keys.admin, key, seconds * 1000)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

for (const [name, openClient] of Object.entries(CLIENTS)) {
  describeLimitStore(name, () => openStore(openClient))
}

test('counts at once with ioredis auto-pipelining, while other commands of the same tick wait', async () => {
  await using space = openKeySpace()
  await using client = Object.assign(new Redis(url, { enableAutoPipelining: true }), {
    [Symbol.asyncDispose]: async () => client.disconnect(),
  })
  await once(client, 'ready')
  const store = createRedisLimitStore(withIoredis(client), space.prefix)
  const waiting = client.get(`${space.prefix}nothing`)
  const taken = store.take('key', { name: 'first', quota: 2, windowSeconds: 60 })
  await expect(Promise.all([waiting, taken])).resolves.toMatchObject([null, { allowed: true, remaining: 1 }])
})

const silent = createLog({ service: 'test', write: () => {} })
const limiterOn = (store: LimitStore, now = () => new Date()) =>
  createLimiter({ store, factor: 1, now, log: silent })

describe.for(Object.entries(CLIENTS))('a limiter on %s', ([, openClient]) => {
  const policy = { name: 'writes', quota: 2, windowSeconds: 60 }

  test('stores no address, e-mail or client id in any key or value, and lets every key expire', async () => {
    await using space = openKeySpace()
    await using opened = await openClient(url)
    // No window of which began the day before, and was counted under another key.
    const limiter = limiterOn(
      createRedisLimitStore(opened.redis, space.prefix),
      () => new Date('2026-11-21T12:00:00Z'),
    )
    await limiter.takeForAddress(policy, '203.0.113.77')
    await limiter.takeForAddress(policy, '2001:db8:aa:bb::77')
    await limiter.take(policy, 'canary@example.org')
    await limiter.take(policy, 'agt_canary')
    const keys = await space.list()
    const values = await Promise.all(keys.map((key) => space.admin.get(key)))
    // Five counts (an IPv6 address has two) and the key of the day.
    expect(keys).toHaveLength(6)
    expect(JSON.stringify([keys, values])).not.toMatch(/203\.0|113\.77|:db8|canary|example/)
    const ttls = await Promise.all(keys.map((key) => space.admin.ttl(key)))
    for (const ttl of ttls) expect(ttl).toBeGreaterThan(0)
  })

  test('counts many policies that are first used at the same moment', async () => {
    await using space = openKeySpace()
    await using opened = await openClient(url)
    const limiter = limiterOn(createRedisLimitStore(opened.redis, space.prefix))
    const states = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        limiter.take({ ...policy, name: `policy-${index % 20}` }, 's'),
      ),
    )
    expect(states.filter(({ allowed }) => allowed)).toHaveLength(40)
  })

  test.for([
    ['a line break', 'a\r\nFLUSHALL\r\n'],
    ['a hash tag', '{auth:token}'],
    ['wildcards', '*[a-z]?'],
    ['code that would end a script', `']]) redis.call('FLUSHALL') --`],
    ['bytes', '\u0000\u00ff\u{1f600}'],
    ['64 KiB', 'x'.repeat(65_536)],
  ] satisfies [string, string][])('takes a key for a key, whatever is in it: %s', async ([_what, key]) => {
    await using space = openKeySpace()
    await using opened = await openClient(url)
    const store = createRedisLimitStore(opened.redis, space.prefix)
    const other = `${key}x`
    const taken = [
      await store.take(key, policy),
      await store.take(key, policy),
      await store.take(key, policy),
    ]
    expect(taken.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect((await store.take(other, policy)).allowed).toBe(true)
    expect(await space.list()).toHaveLength(2)
  })

  test('repairs a count that lost its expiry, so that nobody is locked out for ever', async () => {
    await using space = openKeySpace()
    await using opened = await openClient(url)
    const store = createRedisLimitStore(opened.redis, space.prefix)
    await store.take('key', policy)
    const keys = await space.list()
    for (const key of keys) await space.admin.persist(key)
    await store.take('key', policy)
    for (const key of keys) expect(await space.admin.ttl(key)).toBeGreaterThan(0)
  })

  test('counts in memory while Redis is down, and in Redis again afterwards', async () => {
    await using space = openKeySpace()
    await using proxy = await startTcpProxy(url)
    await using opened = await openClient(proxy.url)
    let at = Date.now()
    const limiter = limiterOn(createRedisLimitStore(opened.redis, space.prefix), () => new Date(at))
    expect(await limiter.take(policy, 's')).toMatchObject({ allowed: true, remaining: 1 })
    await proxy.cut()
    expect(await limiter.take(policy, 's')).toMatchObject({ allowed: true, remaining: 1 })
    await expect(limiter.take({ ...policy, closed: true }, 's')).rejects.toMatchObject({
      code: 'unavailable',
    })
    await proxy.restore()
    // The count in Redis includes the request from before the outage.
    await expect
      .poll(async () => {
        at += 1_001
        return (await limiter.take({ ...policy, quota: 1_000 }, 's')).remaining
      })
      .toBe(998)
  })
})

describe('a Redis that falls silent', () => {
  const policy = { name: 'reads', quota: 100, windowSeconds: 60 }

  test('delays one request by 0.2 s on ioredis, and the next not at all', async () => {
    await using space = openKeySpace()
    await using proxy = await startTcpProxy(url)
    await using opened = await CLIENTS['ioredis']?.(proxy.url, 200)
    if (!opened) throw new Error('no client')
    const limiter = limiterOn(createRedisLimitStore(opened.redis, space.prefix))
    proxy.silence()
    const waits = []
    for (const subject of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const startedAt = performance.now()
      expect((await limiter.take(policy, subject)).allowed).toBe(true)
      waits.push(performance.now() - startedAt)
    }
    expect(waits[0]).toBeGreaterThan(150)
    expect(waits[0]).toBeLessThan(2_000)
    // Each would take 200 ms if Redis were called; a busy machine may delay one.
    expect(waits.slice(1).filter((wait) => wait > 150).length).toBeLessThanOrEqual(1)
  })

  test('receives no command before it has connected', async () => {
    await using space = openKeySpace()
    await using proxy = await startTcpProxy(url)
    proxy.silence()
    const client = new Redis(proxy.url, {
      enableOfflineQueue: false,
      commandTimeout: 200,
      connectTimeout: 1_000,
    })
    client.on('error', () => {})
    const store = createRedisLimitStore(withIoredis(client), space.prefix)
    const limiter = limiterOn(store)
    const startedAt = performance.now()
    for (const subject of ['a', 'b', 'c', 'd', 'e'])
      expect((await limiter.take(policy, subject)).allowed).toBe(true)
    // Each would take 200 ms if a command were sent.
    expect(performance.now() - startedAt).toBeLessThan(800)
    client.disconnect()
  })
})
