import { startRedis } from '@plainpath/http/testing/start-redis'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { deleteAgent, getToken, isActive, register } from './agent-client.ts'
import { startStoreProxy } from './start-store-proxy.ts'
import { describeStopCommand, startStopSystem } from './stop.contract.ts'

describeStopCommand('Redis', async () => {
  await using opening = new AsyncDisposableStack()
  const redis = opening.use(await startRedis())
  const system = opening.use(await startStopSystem({ AUTH_REDIS_URL: redis.url }))
  const resources = opening.move()
  return { ...system, [Symbol.asyncDispose]: () => resources.disposeAsync() }
})

test('auth stop fails while Redis is unavailable, stores nothing, and works when repeated', async () => {
  await using redis = await startRedis()
  await using proxy = await startStoreProxy(redis.url, 6379)
  await using system = await startStopSystem({ AUTH_REDIS_URL: redis.url })
  const [auth] = system.instances
  const token = await getToken(auth, await register(auth))
  const throughProxy = { AUTH_REDIS_URL: proxy.url }
  const stop = (settings: Record<string, string> = {}) =>
    system.run('stop --all-tokens --reason a+drill --json', settings)
  proxy.silence()
  expect((await stop(throughProxy)).code).toBe(1)
  expect((await system.run('stops')).printed).toBe('There has been no emergency revocation.')
  expect(await isActive(auth, token)).toBe(true)
  await proxy.restore()
  expect((await stop(throughProxy)).code).toBe(0)
  expect(await isActive(auth, token)).toBe(false)
})

test('auth stop and the deletion of an agent revoke tokens while the memory of Redis is full', async () => {
  await using redis = await startRedis()
  await using system = await startStopSystem({ AUTH_REDIS_URL: redis.url })
  const [auth] = system.instances
  const [agent, otherAgent] = [await register(auth), await register(auth)]
  const [token, otherToken] = [await getToken(auth, agent), await getToken(auth, otherAgent)]
  const admin = new Redis(redis.url)
  try {
    // With a limit of one byte, Redis refuses every ordinary command that may need more memory.
    await admin.config('SET', 'maxmemory', '1')
    expect((await deleteAgent(auth, agent)).status).toBe(204)
    expect([await isActive(auth, token), await isActive(auth, otherToken)]).toEqual([false, true])
    const stop = await system.run('stop --all-tokens --reason a+drill --json')
    expect(stop.code, stop.errors).toBe(0)
    expect(await isActive(auth, otherToken)).toBe(false)
  } finally {
    admin.disconnect()
  }
})
