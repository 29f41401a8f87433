import { createLog } from '@plainpath/http'
import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { startStoreProxy } from '../test/start-store-proxy.ts'
import { isRedisUnavailable, openRedis } from './open-redis.ts'

const silentLog = createLog({ service: 'test', write: () => undefined })

/** Functions that each send a different kind of command. */
const COMMANDS = {
  set: (redis: Redis) => redis.set('plainpath-test', '1', 'EX', 10),
  get: (redis: Redis) => redis.get('plainpath-test'),
  eval: (redis: Redis) =>
    redis.eval(`return redis.call('SET', KEYS[1], '1', 'EX', '10')`, 1, 'plainpath-test'),
  ping: (redis: Redis) => redis.ping(),
}

/** Sends all commands. Returns the error of each (undefined for a success), and the milliseconds until all have settled. */
async function sendCommands(redis: Redis) {
  const startedAt = performance.now()
  const settled = await Promise.allSettled(Object.values(COMMANDS).map((send) => send(redis)))
  const errors = settled.map((result) =>
    result.status === 'rejected' ? (result.reason as unknown) : undefined,
  )
  return { errors, elapsedMs: performance.now() - startedAt }
}

/** Blocks this thread, as a busy machine does. */
const blockForMs = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** A command timeout that is long enough for tests on a busy machine. The default is 200 ms. */
const LONG_TIMEOUT_MS = 3_000

/** Checks that every command fails, that each error means an unavailable Redis, and that all fail within `withinMs`. */
async function expectUnavailable(redis: Redis, withinMs: number, messagePattern = /./) {
  const { errors, elapsedMs } = await sendCommands(redis)
  for (const error of errors) expect(String(error)).toMatch(messagePattern)
  expect(errors).not.toContain(undefined)
  expect(errors.map(isRedisUnavailable)).toEqual(errors.map(() => true))
  expect(elapsedMs).toBeLessThan(withinMs)
}
const expectAvailable = (redis: Redis) =>
  expect
    .poll(async () => (await sendCommands(redis)).errors)
    .toEqual([undefined, undefined, undefined, undefined])

test('times out on a silent Redis, drops the connection, and reconnects', async () => {
  await using server = await startRedis()
  await using proxy = await startStoreProxy(server.url, 6379)
  await using redis = await openRedis(proxy.url, silentLog, 500)
  await expectAvailable(redis)
  proxy.silence()
  // The command timeout of 500 ms ends the commands. ioredis drops the connection only after 2.5 s of silence.
  await expectUnavailable(redis, 3_000, /did not reply in time/)
  // Without a connection, commands fail before their timeout.
  await expect.poll(() => redis.status).not.toBe('ready')
  await expectUnavailable(redis, 400)
  await proxy.restore()
  await expectAvailable(redis)
})

test('reads the replies that arrived while the process stood still, before it times out', async () => {
  await using server = await startRedis()
  await using redis = await openRedis(server.url, silentLog)
  const sending = sendCommands(redis)
  // A pipeline is sent in the next turn of the event loop. Then this thread stops for longer than the timeout of 200 ms.
  setImmediate(() => blockForMs(300))
  expect((await sending).errors).toEqual([undefined, undefined, undefined, undefined])
  expect(redis.status).toBe('ready')
})

test('does not accumulate commands for a silent Redis', async () => {
  await using server = await startRedis()
  await using proxy = await startStoreProxy(server.url, 6379)
  await using redis = await openRedis(proxy.url, silentLog)
  proxy.silence()
  await Promise.allSettled(Array.from({ length: 200 }, () => redis.get('plainpath-test')))
  await expect.poll(() => redis.status).not.toBe('ready')
  await Promise.allSettled(Array.from({ length: 200 }, () => redis.get('plainpath-test')))
  const queues = redis as unknown as { commandQueue: { length: number }; offlineQueue: { length: number } }
  expect(queues.commandQueue.length + queues.offlineQueue.length).toBeLessThan(5)
})

test('reports a killed Redis as unavailable before commands time out, and reconnects after its restart', async () => {
  await using server = await startRedis()
  await using redis = await openRedis(server.url, silentLog, LONG_TIMEOUT_MS)
  await expectAvailable(redis)
  const sending = sendCommands(redis)
  await server.kill()
  const { errors } = await sending
  // A command that Redis answered before it was killed has no error.
  expect(errors.filter((error) => error && !isRedisUnavailable(error))).toEqual([])
  await expectUnavailable(redis, LONG_TIMEOUT_MS / 2)
  await server.restart()
  await expectAvailable(redis)
})

describe('isRedisUnavailable returns true for an error from', () => {
  async function withServer(runTest: (redis: Redis, server: TestRedis) => Promise<void>) {
    await using server = await startRedis()
    await using redis = await openRedis(server.url, silentLog, LONG_TIMEOUT_MS)
    await runTest(redis, server)
  }
  const catchError = async (command: Promise<unknown>) => {
    const [settled] = await Promise.allSettled([command])
    return settled?.status === 'rejected' ? (settled.reason as Error) : undefined
  }

  test('a Redis whose memory is full', () =>
    withServer(async (redis) => {
      // In bytes, so Redis already uses more.
      await redis.config('SET', 'maxmemory', '1')
      for (const send of [COMMANDS.set, COMMANDS.eval]) {
        const error = await catchError(send(redis))
        expect(error?.message).toMatch(/^OOM/)
        expect(isRedisUnavailable(error)).toBe(true)
      }
    }))

  test('a replica', () =>
    withServer(async (redis) => {
      // The primary need not exist: a replica refuses writes in any case.
      await redis.replicaof('127.0.0.1', 1)
      for (const send of [COMMANDS.set, COMMANDS.eval]) {
        const error = await catchError(send(redis))
        expect(error?.message).toMatch(/^READONLY/)
        expect(isRedisUnavailable(error)).toBe(true)
      }
    }))

  test('a Redis that runs a script for too long', () =>
    withServer(async (redis, server) => {
      await using otherConnection = await openRedis(server.url, silentLog, LONG_TIMEOUT_MS)
      // In milliseconds. After this time, Redis responds to other commands with BUSY until the script ends.
      await redis.config('SET', 'busy-reply-threshold', '20')
      const endlessScript = catchError(otherConnection.eval('while true do end', 0))
      await expect.poll(async () => (await catchError(redis.get('x')))?.message).toMatch(/^BUSY/)
      expect(isRedisUnavailable(await catchError(redis.get('x')))).toBe(true)
      await redis.script('KILL')
      await endlessScript
    }))
})

test('isRedisUnavailable returns true for a command whose pipeline lost its connection midway', () => {
  // ioredis rejects the rest of a pipeline with this error, which has no code, if it has read only some of the replies.
  expect(isRedisUnavailable(new Error('Command aborted due to connection close'))).toBe(true)
})

test('isRedisUnavailable returns false for a command on a key of the wrong type', async () => {
  await using server = await startRedis()
  await using redis = await openRedis(server.url, silentLog, LONG_TIMEOUT_MS)
  await redis.lpush('plainpath-test', '1')
  const [settled] = await Promise.allSettled([redis.get('plainpath-test')])
  expect(settled).toMatchObject({ status: 'rejected' })
  expect(isRedisUnavailable((settled as PromiseRejectedResult).reason)).toBe(false)
})

test('openRedis rejects a Redis that may evict keys', async () => {
  await using server = await startRedis({ 'maxmemory-policy': 'allkeys-lru' })
  await expect(openRedis(server.url, silentLog)).rejects.toThrow('noeviction; it runs with allkeys-lru')
})

test('openRedis fails if Redis does not respond and if it refuses connections; both failures together take less than three seconds', async () => {
  await using server = await startRedis()
  await using proxy = await startStoreProxy(server.url, 6379)
  proxy.silence()
  const startedAt = performance.now()
  await expect(openRedis(proxy.url, silentLog)).rejects.toSatisfy(isRedisUnavailable)
  await proxy.refuse()
  await expect(openRedis(proxy.url, silentLog)).rejects.toSatisfy(isRedisUnavailable)
  expect(performance.now() - startedAt).toBeLessThan(3_000)
})

test('logs an outage once, and its end once', async () => {
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
