import { type OwnRedis, startRedis } from '@plainpath/http/testing/start-redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  deleteAgent,
  getToken,
  isActive,
  type Registered,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'
import { type FaultProxy, startFaultProxy } from './start-fault-proxy.ts'

const unavailable: Refusal = {
  status: 503,
  code: 'unavailable',
  error: 'temporarily_unavailable',
  headers: { 'retry-after': /^[1-9][0-9]*$/ },
}

let stores: AuthStores
let redis: OwnRedis
let proxy: FaultProxy
let auth: RunningAuth
let agent: Registered
let token: string
beforeAll(async () => {
  stores = await openAuthStores()
  redis = await startRedis()
  proxy = await startFaultProxy(redis.url, 6379)
  auth = await startInstance(stores, { env: { AUTH_REDIS_URL: proxy.url }, redisTimeoutMs: 300 })
  agent = await register(auth, 'Atlas without Redis')
  token = await getToken(auth, agent)
})
afterAll(async () => {
  await expectNothingInClear(auth)
  for (const each of [auth, proxy, redis, stores]) await each[Symbol.asyncDispose]()
})

const recovered = () => expect.poll(async () => (await requestToken(auth, agent)).status).toBe(200)

describe.for([
  ['F-13 refuses connections', () => proxy.refuse()],
  ['F-14 falls silent', async () => proxy.silence()],
] satisfies [string, () => Promise<void>][])('while Redis %s', ([_how, fail]) => {
  beforeAll(fail)
  afterAll(() => proxy.restore())

  const NEEDS_REDIS: [string, () => Promise<HttpResponse>, NonNullable<Refusal['form']>][] = [
    ['a token', () => requestToken(auth, agent), 'oauth'],
    ['an introspection', () => requestIntrospection(auth, token), 'oauth'],
    ['a revocation', () => revoke(auth, agent, token), 'oauth'],
    ['a deletion', () => deleteAgent(auth, agent), 'agent'],
  ]
  test.for(NEEDS_REDIS)('%s gets 503 quickly', async ([_what, request, form]) => {
    for (const response of await Promise.all([request(), request(), request()])) {
      expectProblem(response, { ...unavailable, form })
      await expectSafe(auth, response)
      // Limits and token each wait for it once.
      expect(response.ms).toBeLessThan(3_000)
    }
  })

  test('registration needs PostgreSQL only, and limits are counted in the process', async () => {
    expect((await send(auth.url, { method: 'POST', path: '/api/agent/register' })).status).toBe(201)
    expect(auth.logged.join('')).toContain('limits are counted in this process only')
  })

  test('rejects a wrong secret with 401, and serves the documents', async () => {
    expect((await requestToken(auth, { ...agent, client_secret: 'wrong' })).status).toBe(401)
    expect((await send(auth.url, { path: '/oauth/jwks.json' })).status).toBe(200)
  })

  test('is live and not ready', async () => {
    expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    const ready = await send(auth.operationsUrl, { path: '/ready' })
    expect(JSON.parse(ready.text)).toMatchObject({
      status: 'not ready',
      checks: { database: 'ok', redis: 'failed' },
    })
  })

  test('recovers without a restart once Redis is available', async () => {
    await proxy.restore()
    await recovered()
    expect(await isActive(auth, token)).toBe(true)
  })
})

test('a client whose deletion got 503 is active or deleted, and can be deleted', async () => {
  const client = await register(auth)
  const ofIt = await getToken(auth, client)
  await proxy.refuse()
  expect((await deleteAgent(auth, client)).status).toBe(503)
  await proxy.restore()
  await recovered()
  expect(await isActive(auth, ofIt)).toBe(true)
  expect((await deleteAgent(auth, client)).status).toBe(204)
  expect(await isActive(auth, ofIt)).toBe(false)
})

test('F-16 a Redis that restarts empty invalidates all tokens, and makes no invalid token valid', async () => {
  const deleted = await register(auth)
  const ofIt = await getToken(auth, deleted)
  expect((await deleteAgent(auth, deleted)).status).toBe(204)
  await redis.restart()
  await recovered()
  expect([await isActive(auth, token), await isActive(auth, ofIt)]).toEqual([false, false])
  expect(await isActive(auth, await getToken(auth, agent))).toBe(true)
})
