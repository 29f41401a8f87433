import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as waitForNextTurn } from 'node:timers/promises'
import {
  createLog,
  createPrefetchingLimitStore,
  createRedisLimitStore,
  type LimitPolicy,
  type LimitStore,
} from '@plainpath/http'
import { createClient } from 'redis'
import { expect, inject, test } from 'vitest'
import { openRedis } from './open-redis.ts'

const getRedisUrl = () => inject('redisUrl') ?? ''
/** Its name is random, so that the counts of other test runs on the same Redis do not matter. */
const policy: LimitPolicy = { name: `test-${randomBytes(4).toString('hex')}`, quota: 2, windowSeconds: 60 }
const logLines: string[] = []
const log = createLog({ service: 'test', write: (line) => logLines.push(line) })

function openStore(redisUrl: string) {
  const redis = openRedis(redisUrl, { log })
  const store = createPrefetchingLimitStore(createRedisLimitStore(redis, 'resource:'), () => new Date())
  return { ...store, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() }
}

/** Repeats a call until it succeeds, for at most 20 s. While the store is not connected, each call fails immediately. */
async function retryUntilSuccess<T>(call: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + 20_000
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
      await waitForNextTurn()
    }
  }
}
const takeWhenConnected = (store: LimitStore, key: string) => retryUntilSuccess(() => store.take(key, policy))

/** Deletes the counts of `policy`. */
async function removeKeys(): Promise<void> {
  const redis = await createClient({ url: getRedisUrl() }).connect()
  for await (const keys of redis.scanIterator({ MATCH: `resource:limit:${policy.name}*` })) {
    if (keys.length > 0) await redis.del(keys)
  }
  redis.destroy()
}

test('two stores count together, under keys of this app that expire', async () => {
  await using one = openStore(getRedisUrl())
  await using two = openStore(getRedisUrl())
  expect(await takeWhenConnected(one, 'a')).toMatchObject({ allowed: true, remaining: 1 })
  expect(await takeWhenConnected(two, 'a')).toMatchObject({ allowed: true, remaining: 0 })
  expect(await one.take('a', policy)).toMatchObject({ allowed: false, remaining: 0 })
  expect(await one.take('b', policy)).toMatchObject({ allowed: true })
  const redis = await createClient({ url: getRedisUrl() }).connect()
  const ttl = await redis.ttl(`resource:limit:${policy.name}:a`)
  redis.destroy()
  expect(ttl).toBeGreaterThan(0)
  expect(ttl).toBeLessThanOrEqual(60)
  await removeKeys()
})

test('two stores share the daily key', async () => {
  await using one = openStore(getRedisUrl())
  await using two = openStore(getRedisUrl())
  const day = `test-${randomBytes(4).toString('hex')}`
  const keys = [
    await retryUntilSuccess(() => one.getDailyKey(day)),
    await retryUntilSuccess(() => two.getDailyKey(day)),
  ]
  expect(keys[0]).toHaveLength(32)
  expect(keys[1]).toEqual(keys[0])
  const redis = await createClient({ url: getRedisUrl() }).connect()
  await redis.del(`resource:limit-key:${day}`)
  redis.destroy()
})

test('rejects a call within a second when Redis does not respond, and uses Redis again when it does', async () => {
  await using proxy = await startPausableProxy(getRedisUrl())
  await using store = openStore(proxy.url)
  expect(await takeWhenConnected(store, 'c')).toMatchObject({ allowed: true })
  proxy.pause()
  const startedAt = performance.now()
  await expect(store.take('c', policy)).rejects.toThrow('Redis did not reply in time')
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  proxy.resume()
  expect(await takeWhenConnected(store, 'd')).toMatchObject({ allowed: true, remaining: 1 })
  await removeKeys()
})

test('rejects every call without Redis, and logs one warning without the password', async () => {
  logLines.length = 0
  await using store = openStore('redis://:secret@127.0.0.1:1')
  for (let n = 0; n < 20; n++) await expect(store.take('a', policy)).rejects.toThrow('offline')
  await expect.poll(() => logLines.length).toBe(1)
  expect(logLines[0]).toContain('Redis is unavailable')
  expect(logLines[0]).not.toContain('secret')
})

/** Starts a TCP proxy. While it is paused, it keeps its connections open and forwards nothing. */
async function startPausableProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port || 6379), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      // Without a listener, the reset of a connection would be an uncaught exception.
      from.on('error', () => {})
      from.pipe(to)
      from.on('close', () => to.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pause: () => {
      for (const socket of sockets) socket.pause()
    },
    resume: () => {
      for (const socket of sockets) socket.resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
