import { createLog } from '@plainpath/http'
import { type OwnRedis, startRedis } from '@plainpath/http/testing/start-redis'
import { describe, expect, test } from 'vitest'
import { startFaultProxy } from '../../test/start-fault-proxy.ts'
import { isRedisUnavailable, openRedis } from './open-redis.ts'

const silent = createLog({ service: 'test', write: () => undefined })
type Opened = Awaited<ReturnType<typeof openRedis>>

/** Every kind of command that we send. */
const COMMANDS = {
  set: (redis: Opened) => redis.set('plainpath-test', '1', 'EX', 10),
  get: (redis: Opened) => redis.get('plainpath-test'),
  eval: (redis: Opened) =>
    redis.eval(`return redis.call('SET', KEYS[1], '1', 'EX', '10')`, 1, 'plainpath-test'),
  ping: (redis: Opened) => redis.ping(),
}

/** @returns the failure of each command, and the time of the slowest */
async function failures(redis: Opened) {
  const startedAt = performance.now()
  const settled = await Promise.allSettled(Object.values(COMMANDS).map((send) => send(redis)))
  const reasons = settled.map((result) =>
    result.status === 'rejected' ? (result.reason as unknown) : undefined,
  )
  return { reasons, ms: performance.now() - startedAt }
}

/** Longer than the 200 ms of production: a machine that runs tests may be busy for a while. */
const PATIENT_MS = 3_000

async function expectUnavailable(redis: Opened, withinMs: number, why = /./) {
  const { reasons, ms } = await failures(redis)
  for (const reason of reasons) expect(String(reason)).toMatch(why)
  expect(reasons).not.toContain(undefined)
  expect(reasons.map(isRedisUnavailable)).toEqual(reasons.map(() => true))
  expect(ms).toBeLessThan(withinMs)
}
const expectAvailable = (redis: Opened) =>
  expect
    .poll(async () => (await failures(redis)).reasons)
    .toEqual([undefined, undefined, undefined, undefined])

test('times out on a silent Redis, drops the connection, and reconnects', async () => {
  await using server = await startRedis()
  await using proxy = await startFaultProxy(server.url, 6379)
  await using redis = await openRedis(proxy.url, silent, 500)
  await expectAvailable(redis)
  proxy.silence()
  // Not because the connection is dropped, a second after it fell silent.
  await expectUnavailable(redis, 3_000, /timed out/)
  // The connection was dropped: nobody waits for it any more.
  await expect.poll(() => redis.status).not.toBe('ready')
  await expectUnavailable(redis, 400)
  await proxy.restore()
  await expectAvailable(redis)
})

test('does not accumulate commands for a silent Redis', async () => {
  await using server = await startRedis()
  await using proxy = await startFaultProxy(server.url, 6379)
  await using redis = await openRedis(proxy.url, silent)
  proxy.silence()
  await Promise.allSettled(Array.from({ length: 200 }, () => redis.get('plainpath-test')))
  await expect.poll(() => redis.status).not.toBe('ready')
  await Promise.allSettled(Array.from({ length: 200 }, () => redis.get('plainpath-test')))
  const waiting = redis as unknown as { commandQueue: { length: number }; offlineQueue: { length: number } }
  expect(waiting.commandQueue.length + waiting.offlineQueue.length).toBeLessThan(5)
})

test('reports a killed Redis as unavailable at once, and reconnects when it is back', async () => {
  await using server = await startRedis()
  await using redis = await openRedis(server.url, silent, PATIENT_MS)
  await expectAvailable(redis)
  const inFlight = failures(redis)
  await server.kill()
  const { reasons } = await inFlight
  expect(reasons.filter((reason) => reason && !isRedisUnavailable(reason))).toEqual([])
  await expectUnavailable(redis, PATIENT_MS / 2)
  await server.restart()
  await expectAvailable(redis)
})

describe('a Redis that responds "not now" is unavailable:', () => {
  async function withServer(use: (redis: Opened, server: OwnRedis) => Promise<void>) {
    await using server = await startRedis()
    await using redis = await openRedis(server.url, silent, PATIENT_MS)
    await use(redis, server)
  }
  const reasonOf = async (command: Promise<unknown>) => {
    const [settled] = await Promise.allSettled([command])
    return settled?.status === 'rejected' ? (settled.reason as Error) : undefined
  }

  test('a full one', () =>
    withServer(async (redis) => {
      await redis.config('SET', 'maxmemory', '1')
      for (const send of [COMMANDS.set, COMMANDS.eval]) {
        const reason = await reasonOf(send(redis))
        expect(reason?.message).toMatch(/^OOM/)
        expect(isRedisUnavailable(reason)).toBe(true)
      }
    }))

  test('a replica', () =>
    withServer(async (redis) => {
      await redis.replicaof('127.0.0.1', 1)
      for (const send of [COMMANDS.set, COMMANDS.eval]) {
        const reason = await reasonOf(send(redis))
        expect(reason?.message).toMatch(/^READONLY/)
        expect(isRedisUnavailable(reason)).toBe(true)
      }
    }))

  test('a Redis that runs a script for too long', () =>
    withServer(async (redis, server) => {
      await using other = await openRedis(server.url, silent, PATIENT_MS)
      await redis.config('SET', 'busy-reply-threshold', '20')
      const looping = reasonOf(other.eval('while true do end', 0))
      await expect.poll(async () => (await reasonOf(redis.get('x')))?.message).toMatch(/^BUSY/)
      expect(isRedisUnavailable(await reasonOf(redis.get('x')))).toBe(true)
      await redis.script('KILL')
      await looping
    }))
})

test('does not report an invalid command as unavailability', async () => {
  await using server = await startRedis()
  await using redis = await openRedis(server.url, silent, PATIENT_MS)
  await redis.lpush('plainpath-test', '1')
  const [settled] = await Promise.allSettled([redis.get('plainpath-test')])
  expect(settled).toMatchObject({ status: 'rejected' })
  expect(isRedisUnavailable((settled as PromiseRejectedResult).reason)).toBe(false)
})

test('rejects a Redis that may evict keys', async () => {
  await using server = await startRedis({ 'maxmemory-policy': 'allkeys-lru' })
  await expect(openRedis(server.url, silent)).rejects.toThrow('noeviction; it runs with allkeys-lru')
})

test('fails at once when it cannot connect, or gets no response', async () => {
  await using server = await startRedis()
  await using proxy = await startFaultProxy(server.url, 6379)
  proxy.silence()
  const startedAt = performance.now()
  await expect(openRedis(proxy.url, silent)).rejects.toSatisfy(isRedisUnavailable)
  await proxy.refuse()
  await expect(openRedis(proxy.url, silent)).rejects.toSatisfy(isRedisUnavailable)
  expect(performance.now() - startedAt).toBeLessThan(3_000)
})

test('logs an outage and its end once each, without the address', async () => {
  await using server = await startRedis()
  const lines: string[] = []
  await using redis = await openRedis(
    server.url,
    createLog({ service: 'test', write: (line) => void lines.push(line) }),
  )
  await server.kill()
  await expect.poll(() => lines.length).toBe(1)
  await server.restart()
  await expectAvailable(redis)
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(messages).toEqual(['Redis is unavailable', 'Redis is available again'])
})
