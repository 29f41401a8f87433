import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type RegisteredAgent,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { type ErrorFormat, expectProblem, expectSafe, UNAVAILABLE } from './expect-refusal.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'
import { type StoreProxy, startStoreProxy } from './start-store-proxy.ts'

// The numbers in the titles, such as F-13, are those of the faults in e2e/faults/fault-numbers.ts.

let testbed: AuthTestbed
let redis: TestRedis
let proxy: StoreProxy
let auth: RunningAuth
let agent: RegisteredAgent
let token: string
beforeAll(async () => {
  testbed = await openAuthTestbed()
  redis = await startRedis()
  proxy = await startStoreProxy(redis.url, 6379)
  auth = await startInstance(testbed, { env: { AUTH_REDIS_URL: proxy.url }, redisTimeoutMs: 300 })
  agent = await register(auth, 'Atlas without Redis')
  token = await getToken(auth, agent)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  for (const resource of [auth, proxy, redis, testbed]) await resource[Symbol.asyncDispose]()
})

const expectRecovery = () => expect.poll(async () => (await requestToken(auth, agent)).status).toBe(200)

describe.for([
  ['F-13 refuses connections', () => proxy.refuse()],
  ['F-14 accepts connections but does not respond', async () => proxy.silence()],
] satisfies [string, () => Promise<void>][])('while Redis %s', ([_title, fail]) => {
  beforeAll(fail)
  afterAll(() => proxy.restore())

  const REQUESTS_THAT_NEED_REDIS: [string, () => Promise<HttpResponse>, ErrorFormat][] = [
    ['a token request', () => requestToken(auth, agent), 'oauth'],
    ['an introspection', () => requestIntrospection(auth, token), 'oauth'],
    ['a revocation', () => revoke(auth, agent, token), 'oauth'],
    ['a deletion', () => deleteAgent(auth, agent), 'agent'],
  ]
  test.for(REQUESTS_THAT_NEED_REDIS)('%s gets 503 within 3 s', async ([_request, request, errorFormat]) => {
    for (const response of await Promise.all([request(), request(), request()])) {
      expectProblem(response, { ...UNAVAILABLE, errorFormat })
      await expectSafe(auth, response)
      // The limiter and the token store may each wait for one Redis timeout.
      expect(response.durationMs).toBeLessThan(3_000)
    }
  })

  test('registration still works, and the instance counts requests against limits in its own memory', async () => {
    expect((await send(auth.url, { method: 'POST', path: '/api/agent/register' })).status).toBe(201)
    expect(auth.logged.join('')).toContain('limits are counted in this process only')
  })

  test('a wrong secret gets 401, and the key set is served', async () => {
    expect((await requestToken(auth, { ...agent, client_secret: 'wrong' })).status).toBe(401)
    expect((await send(auth.url, { path: '/oauth/jwks.json' })).status).toBe(200)
  })

  test('the instance is live but not ready', async () => {
    expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    const ready = await send(auth.operationsUrl, { path: '/ready' })
    expect(JSON.parse(ready.text)).toMatchObject({
      status: 'not ready',
      checks: { database: 'ok', redis: 'failed' },
    })
  })

  test('the instance recovers without a restart once Redis is available', async () => {
    await proxy.restore()
    await expectRecovery()
    expect(await isActive(auth, token)).toBe(true)
  })
})

test('a client whose deletion got 503 is still active, and can be deleted later', async () => {
  const client = await register(auth)
  const clientToken = await getToken(auth, client)
  await proxy.refuse()
  expect((await deleteAgent(auth, client)).status).toBe(503)
  await proxy.restore()
  await expectRecovery()
  expect(await isActive(auth, clientToken)).toBe(true)
  expect((await deleteAgent(auth, client)).status).toBe(204)
  expect(await isActive(auth, clientToken)).toBe(false)
})

test("F-16 after Redis restarts without its data, no earlier token is active, and a deleted client's token does not become active again; new tokens work", async () => {
  const deletedAgent = await register(auth)
  const deletedAgentToken = await getToken(auth, deletedAgent)
  expect((await deleteAgent(auth, deletedAgent)).status).toBe(204)
  await redis.restart()
  await expectRecovery()
  expect([await isActive(auth, token), await isActive(auth, deletedAgentToken)]).toEqual([false, false])
  expect(await isActive(auth, await getToken(auth, agent))).toBe(true)
})
