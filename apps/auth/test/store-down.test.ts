import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  createJsonContent,
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
import {
  createAssertionHeader,
  type KeyAgent,
  registerKeys,
  requestTokenWithNewAssertion,
} from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startInstance } from './start-auth.ts'
import { type StoreProxy, startStoreProxy } from './start-store-proxy.ts'

// The numbers in the titles, such as F-01, are those of the faults in e2e/faults/fault-numbers.ts.

/** In production, a query times out after 2.5 s, and a connection attempt after 1 s. */
const MAX_RESPONSE_MS = 5_000

let testbed: AuthTestbed
let proxy: StoreProxy
let auth: RunningAuth
let agent: RegisteredAgent
let otherAgent: RegisteredAgent
let token: string
let keyAgent: KeyAgent
beforeAll(async () => {
  testbed = await openAuthTestbed()
  proxy = await startStoreProxy(testbed.database.appUrl, 5432)
  auth = await startInstance(testbed, { env: { AUTH_DATABASE_URL: proxy.url }, useProductionTimeouts: true })
  agent = await register(auth)
  token = await getToken(auth, agent)
  otherAgent = await register(auth)
  keyAgent = await registerKeys(auth)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  for (const each of [auth, proxy, testbed]) await each[Symbol.asyncDispose]()
})

const REQUESTS_THAT_NEED_THE_DATABASE: [string, () => Promise<HttpResponse>, ErrorFormat][] = [
  [
    'a registration',
    () => send(auth.url, { method: 'POST', path: '/api/agent/register', ...createJsonContent({}) }),
    'agent',
  ],
  ['a token for a cached client', () => requestToken(auth, agent), 'oauth'],
  ['a token for a cached client with keys', () => requestTokenWithNewAssertion(auth, keyAgent), 'oauth'],
  [
    'GET /api/agent of a cached client with keys',
    async () => send(auth.url, { path: '/api/agent', headers: await createAssertionHeader(auth, keyAgent) }),
    'agent',
  ],
  ['a token for a client that is not cached', () => requestToken(auth, createUnknownAgent()), 'oauth'],
  ['an introspection', () => requestIntrospection(auth, token), 'oauth'],
  ['a revocation', () => revoke(auth, agent, token), 'oauth'],
  ['a deletion', () => deleteAgent(auth, agent), 'agent'],
  [
    'GET /api/agent of a client that is not cached',
    () => send(auth.url, { path: '/api/agent', headers: agentAuthHeader(createUnknownAgent()) }),
    'agent',
  ],
]
/** Makes up the credentials of a client that is not registered, so no instance can have cached it. */
const createUnknownAgent = (): RegisteredAgent => {
  const random = crypto.randomUUID().replaceAll('-', '').slice(0, 22)
  return { client_id: `agt_${random}`, client_secret: 'x' }
}

/**
 * Checks that both connections listen for notifications: one about agents and keys, the other about mails. The one
 * about agents and keys sends two LISTEN queries. While its last query is the first of them, the second is yet to come.
 */
async function expectListening() {
  const { rowCount } = await testbed.db.query(
    `select from pg_stat_activity where datname = current_database() and application_name = 'plainpath listen'
     and state = 'idle' and query <> '' and query <> 'listen "agents_changed"'`,
  )
  expect(rowCount).toBe(2)
}

/**
 * Checks that the instance receives notifications. An instance clears its cache when it begins to listen. Once a
 * notification has arrived, the instance has already done that.
 */
async function expectNotified() {
  await getToken(auth, otherAgent)
  for (const [status, expectedStatus] of [
    ['disabled', 401],
    ['active', 200],
  ] as const) {
    await testbed.db.query('update agents set status = $1 where id = $2', [status, otherAgent.client_id])
    const expectResponse = async () =>
      expect((await requestToken(auth, otherAgent)).status).toBe(expectedStatus)
    await vi.waitFor(expectResponse, { timeout: 20_000 })
  }
}

async function expectRecovery() {
  await expect.poll(async () => (await requestToken(auth, agent)).status).toBe(200)
  expect(await isActive(auth, token)).toBe(true)
  await expect.poll(async () => (await send(auth.operationsUrl, { path: '/ready' })).status).toBe(200)
}

describe.for([
  ['refuses connections', () => proxy.refuse()],
  ['accepts connections but does not respond', async () => proxy.silence()],
] satisfies [string, () => Promise<void>][])('F-01, F-02 while the database %s', ([_title, fail]) => {
  beforeAll(async () => {
    // When the listener reconnects, the instance clears its cache. That must not happen during the tests.
    await vi.waitFor(expectListening, { timeout: 20_000 })
    await expectNotified()
    await requestTokenWithNewAssertion(auth, keyAgent)
    await fail()
  })
  afterAll(() => proxy.restore())

  // This test runs first, because the cache is valid for half a minute.
  test('the instance rejects wrong credentials of cached callers without the database', async () => {
    const wrongSecretResponse = await requestToken(auth, { ...otherAgent, client_secret: 'wrong' })
    expectProblem(wrongSecretResponse, { status: 401, code: 'invalid-client', error: 'invalid_client' })
    const wrongCallerResponse = await requestIntrospection(auth, token, basicAuth('rs_api', 'wrong'))
    expectProblem(wrongCallerResponse, { status: 401, code: 'invalid-client', error: 'invalid_client' })
  })

  test('the instance responds 503 within 5 s to requests that need the database', {
    timeout: 60_000,
  }, async () => {
    const responses = await Promise.all(
      REQUESTS_THAT_NEED_THE_DATABASE.map(async ([name, request, errorFormat]) => ({
        name,
        errorFormat,
        response: await request(),
      })),
    )
    for (const { name, errorFormat, response } of responses) {
      expect(response.status, name).toBe(503)
      expectProblem(response, { ...UNAVAILABLE, errorFormat })
      await expectSafe(auth, response)
      expect(response.durationMs, name).toBeLessThan(MAX_RESPONSE_MS)
    }
  })

  test('the instance serves the key set and its metadata from memory', async () => {
    for (const path of ['/oauth/jwks.json', '/.well-known/oauth-authorization-server']) {
      const response = await send(auth.url, { path })
      expect(response.status).toBe(200)
      expect(response.durationMs).toBeLessThan(1_000)
    }
  })

  test('the instance is live but not ready', async () => {
    expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    const readiness = await send(auth.operationsUrl, { path: '/ready' })
    expect(readiness.status).toBe(503)
    expect(JSON.parse(readiness.text)).toMatchObject({ status: 'not ready', checks: { database: 'failed' } })
  })

  test('the instance logs no password', () => {
    const logged = auth.logged.join('')
    expect(logged).toContain('"status":503')
    expect(logged).not.toContain(new URL(proxy.url).password)
  })

  test('the instance recovers without a restart once the database is available', {
    timeout: 30_000,
  }, async () => {
    await proxy.restore()
    await expectRecovery()
  })
})

describe('F-06 while the database is read-only', () => {
  const setReadOnly = (isReadOnly: boolean) =>
    testbed.runAsAdmin(
      `begin read write; alter database ${testbed.database.name} set default_transaction_read_only = ${isReadOnly}; commit`,
    )
  const restartSessions = () =>
    testbed.runAsAdmin(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  beforeAll(async () => {
    await setReadOnly(true)
    await restartSessions()
  })
  afterAll(async () => {
    await setReadOnly(false)
    await restartSessions()
  })

  test('the instance responds 503 to writes, and still finds tokens', async () => {
    await expect.poll(async () => (await requestIntrospection(auth, token)).status).toBe(200)
    const writes = REQUESTS_THAT_NEED_THE_DATABASE.filter(([name]) =>
      /registration|a cached client$|revocation|deletion/.test(name),
    )
    for (const [name, request, errorFormat] of writes) {
      const response = await request()
      expect(response.status, name).toBe(503)
      expectProblem(response, { ...UNAVAILABLE, errorFormat })
    }
    expect(await isActive(auth, token)).toBe(true)
  })

  test('the instance recovers once the database is writable', async () => {
    await setReadOnly(false)
    await restartSessions()
    await expectRecovery()
  })
})

test('F-04 requests get 200 or 503 while database sessions are terminated, and the instance recovers', async () => {
  const requests = Array.from({ length: 20 }, () => requestToken(auth, agent))
  await testbed.runAsAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  for (const { status } of await Promise.all(requests)) expect([200, 503]).toContain(status)
  await expectRecovery()
})
