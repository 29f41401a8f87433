import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  asAgent,
  basic,
  deleteAgent,
  getToken,
  isActive,
  json,
  type Registered,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import { inHeader, type KeyAgent, registerKeys, tokenByKey } from './key-agent.ts'
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
/** A statement times out after 2.5 s, a connection attempt after 1 s. */
const WITHIN_MS = 5_000

let stores: AuthStores
let proxy: FaultProxy
let auth: RunningAuth
let known: Registered
let another: Registered
let token: string
let keyed: KeyAgent
beforeAll(async () => {
  stores = await openAuthStores()
  proxy = await startFaultProxy(stores.database.appUrl, 5432)
  auth = await startInstance(stores, { env: { AUTH_DATABASE_URL: proxy.url }, productionTimeouts: true })
  known = await register(auth)
  token = await getToken(auth, known)
  another = await register(auth)
  keyed = await registerKeys(auth)
})
afterAll(async () => {
  await expectNothingInClear(auth)
  for (const each of [auth, proxy, stores]) await each[Symbol.asyncDispose]()
})

const NEEDS_THE_DATABASE: [string, () => Promise<HttpResponse>, Refusal['form']][] = [
  [
    'a registration',
    () => send(auth.url, { method: 'POST', path: '/api/agent/register', ...json({}) }),
    'agent',
  ],
  ['a token for a client in memory', () => requestToken(auth, known), 'oauth'],
  ['a token for a client in memory that has keys', () => tokenByKey(auth, keyed), 'oauth'],
  [
    'the message for such a client',
    async () => send(auth.url, { path: '/api/agent', headers: await inHeader(auth, keyed) }),
    'agent',
  ],
  ['a token for any other client', () => requestToken(auth, unknown()), 'oauth'],
  ['an introspection', () => requestIntrospection(auth, token), 'oauth'],
  ['a revocation', () => revoke(auth, known, token), 'oauth'],
  ['a deletion', () => deleteAgent(auth, known), 'agent'],
  [
    'GET /api/agent of a client that is not in the cache',
    () => send(auth.url, { path: '/api/agent', headers: asAgent(unknown()) }),
    'agent',
  ],
]
/** A client that this process has not read from the database. */
const unknown = (): Registered => {
  const random = crypto.randomUUID().replaceAll('-', '').slice(0, 22)
  return { client_id: `agt_${random}`, client_secret: 'x' }
}

/**
 * One connection receives notifications about agents and keys, the other about mails. The first has listened to both of its
 * channels when its last query is not the first LISTEN.
 */
async function expectListening() {
  const { rowCount } = await stores.db.query(
    `select from pg_stat_activity where datname = current_database() and application_name = 'plainpath listen'
     and state = 'idle' and query <> '' and query <> 'listen "agents_changed"'`,
  )
  expect(rowCount).toBe(2)
}

/** A notification arrives after the response to LISTEN, so an instance that received one has cleared its cache. */
async function expectNotified() {
  await getToken(auth, another)
  for (const [status, response] of [
    ['disabled', 401],
    ['active', 200],
  ] as const) {
    await stores.db.query('update agents set status = $1 where id = $2', [status, another.client_id])
    const expectResponse = async () => expect((await requestToken(auth, another)).status).toBe(response)
    await vi.waitFor(expectResponse, { timeout: 20_000 })
  }
}

async function expectRecovery() {
  await expect.poll(async () => (await requestToken(auth, known)).status).toBe(200)
  expect(await isActive(auth, token)).toBe(true)
  await expect.poll(async () => (await send(auth.operationsUrl, { path: '/ready' })).status).toBe(200)
}

describe.for([
  ['refuses connections', () => proxy.refuse()],
  ['falls silent', async () => proxy.silence()],
] satisfies [string, () => Promise<void>][])('F-01, F-02 while the database %s', ([_how, fail]) => {
  beforeAll(async () => {
    // Reconnecting the listener for notifications clears the server's cache, which must not happen later.
    await vi.waitFor(expectListening, { timeout: 20_000 })
    await expectNotified()
    await tokenByKey(auth, keyed)
    await fail()
  })
  afterAll(() => proxy.restore())

  // The first, since what is in memory is kept for half a minute.
  test('rejects wrong credentials without the database', async () => {
    const wrong = await requestToken(auth, { ...another, client_secret: 'wrong' })
    expectProblem(wrong, { status: 401, code: 'invalid-client', error: 'invalid_client' })
    const nobody = await requestIntrospection(auth, token, basic('rs_api', 'wrong'))
    expectProblem(nobody, { status: 401, code: 'invalid-client', error: 'invalid_client' })
  })

  test('responds 503 soon to requests that need the database', { timeout: 60_000 }, async () => {
    const responses = await Promise.all(
      NEEDS_THE_DATABASE.map(async ([name, request, form]) => ({ name, form, response: await request() })),
    )
    for (const { name, form, response } of responses) {
      expect(response.status, name).toBe(503)
      expectProblem(response, { ...unavailable, form: form ?? 'oauth' })
      await expectSafe(auth, response)
      expect(response.ms, name).toBeLessThan(WITHIN_MS)
    }
  })

  test('serves the documents from memory', async () => {
    for (const path of ['/oauth/jwks.json', '/.well-known/oauth-authorization-server']) {
      const response = await send(auth.url, { path })
      expect(response.status).toBe(200)
      expect(response.ms).toBeLessThan(1_000)
    }
  })

  test('is live and not ready', async () => {
    expect((await send(auth.operationsUrl, { path: '/live' })).status).toBe(200)
    const ready = await send(auth.operationsUrl, { path: '/ready' })
    expect(ready.status).toBe(503)
    expect(JSON.parse(ready.text)).toMatchObject({ status: 'not ready', checks: { database: 'failed' } })
  })

  test('logs no password', () => {
    const logged = auth.logged.join('')
    expect(logged).toContain('"status":503')
    expect(logged).not.toContain(new URL(proxy.url).password)
  })

  test('recovers without a restart once the database is available', { timeout: 30_000 }, async () => {
    await proxy.restore()
    await expectRecovery()
  })
})

describe('F-06 while the database is read-only', () => {
  const readOnly = (on: boolean) =>
    stores.asAdmin(
      `begin read write; alter database ${stores.database.name} set default_transaction_read_only = ${on}; commit`,
    )
  const restartSessions = () =>
    stores.asAdmin(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  beforeAll(async () => {
    await readOnly(true)
    await restartSessions()
  })
  afterAll(async () => {
    await readOnly(false)
    await restartSessions()
  })

  test('responds 503 to writes, and still finds tokens', async () => {
    await expect.poll(async () => (await requestIntrospection(auth, token)).status).toBe(200)
    for (const [name, request, form] of NEEDS_THE_DATABASE.filter(([each]) =>
      /registration|memory$|revocation|deletion/.test(each),
    ))
      expectProblem(await request().then((response) => ({ ...response, name })), {
        ...unavailable,
        form: form ?? 'oauth',
      })
    expect(await isActive(auth, token)).toBe(true)
  })

  test('recovers once the database is writable', async () => {
    await readOnly(false)
    await restartSessions()
    await expectRecovery()
  })
})

test('F-04 terminated database sessions affect no other request', async () => {
  const requesting = Array.from({ length: 20 }, () => requestToken(auth, known))
  await stores.asAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  for (const { status } of await Promise.all(requesting)) expect([200, 503]).toContain(status)
  await expectRecovery()
})
