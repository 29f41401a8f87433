import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { createLog, type LimitPolicy, type LimitStore } from '@plainpath/http'
import { createClient } from 'redis'
import { expect, inject, test } from 'vitest'
import { openRedis } from '../open-redis.ts'
import { openLimitStore } from './open-limit-store.ts'

const url = () => inject('redisUrl') ?? ''
const policy: LimitPolicy = { name: `test-${randomBytes(4).toString('hex')}`, quota: 2, windowSeconds: 60 }
const logged: string[] = []
const log = createLog({ service: 'test', write: (line) => logged.push(line) })

function openStore(redisUrl: string) {
  const redis = openRedis(redisUrl, { log })
  const store = openLimitStore(redis, { now: () => new Date() })
  return { ...store, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() }
}

/** Repeats a call until it succeeds; while the store is not connected, each call fails at once. */
async function untilItSucceeds<T>(call: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + 20_000
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
      await turn()
    }
  }
}
const first = (store: LimitStore, key: string) => untilItSucceeds(() => store.take(key, policy))

async function removeKeys(): Promise<void> {
  const redis = await createClient({ url: url() }).connect()
  for await (const keys of redis.scanIterator({ MATCH: `resource:limit:${policy.name}*` })) {
    if (keys.length > 0) await redis.del(keys)
  }
  redis.destroy()
}

test('two processes count together, in keys of this app that end by themselves', async () => {
  await using one = openStore(url())
  await using two = openStore(url())
  expect(await first(one, 'a')).toMatchObject({ allowed: true, remaining: 1 })
  expect(await first(two, 'a')).toMatchObject({ allowed: true, remaining: 0 })
  expect(await one.take('a', policy)).toMatchObject({ allowed: false, remaining: 0 })
  expect(await one.take('b', policy)).toMatchObject({ allowed: true })
  const redis = await createClient({ url: url() }).connect()
  const ttl = await redis.ttl(`resource:limit:${policy.name}:a`)
  redis.destroy()
  expect(ttl).toBeGreaterThan(0)
  expect(ttl).toBeLessThanOrEqual(60)
  await removeKeys()
})

test('two processes share the key of the day', async () => {
  await using one = openStore(url())
  await using two = openStore(url())
  const day = `test-${randomBytes(4).toString('hex')}`
  const keys = [
    await untilItSucceeds(() => one.dailyKey(day)),
    await untilItSucceeds(() => two.dailyKey(day)),
  ]
  expect(keys[0]).toHaveLength(32)
  expect(keys[1]).toEqual(keys[0])
  const redis = await createClient({ url: url() }).connect()
  await redis.del(`resource:limit-key:${day}`)
  redis.destroy()
})

test('a Redis that falls silent costs a moment, and is used again when it speaks', async () => {
  await using proxy = await stoppableProxy(url())
  await using store = openStore(proxy.url)
  expect(await first(store, 'c')).toMatchObject({ allowed: true })
  proxy.stop()
  const startedAt = performance.now()
  await expect(store.take('c', policy)).rejects.toThrow('Redis did not answer in time')
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  proxy.goOn()
  expect(await first(store, 'd')).toMatchObject({ allowed: true, remaining: 1 })
  await removeKeys()
})

test('each call fails at once without Redis, and one line says so', async () => {
  logged.length = 0
  await using store = openStore('redis://:secret@127.0.0.1:1')
  for (let n = 0; n < 20; n++) await expect(store.take('a', policy)).rejects.toThrow('offline')
  await expect.poll(() => logged.length).toBe(1)
  expect(logged[0]).toContain('Redis is unavailable')
  expect(logged[0]).not.toContain('secret')
})

/** Stands before a server; stopped, it keeps connections open and passes nothing on. */
async function stoppableProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port || 6379), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.pipe(to)
      from.on('close', () => to.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      for (const socket of sockets) socket.pause()
    },
    goOn: () => {
      for (const socket of sockets) socket.resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
