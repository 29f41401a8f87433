import { API_VERSION } from '@plainpath/metadata'
import { expect, test } from 'vitest'
import { findUnusedUrl } from './fake-authorization-server.ts'
import { sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const UNREACHABLE_DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none'
const readHealth = async (origin: string, headers = {}) => {
  const {
    status,
    body,
    headers: responseHeaders,
  } = await sendRequest(origin, { path: '/api/health', headers })
  return { status, body: JSON.parse(body) as unknown, headers: responseHeaders }
}

test('health is ok if its checks succeed, even if the token is invalid, and the response must not be cached', async () => {
  await using api = await startResource()
  const response = await readHealth(api.origin, { authorization: 'Bearer nonsense' })
  expect(response.status).toBe(200)
  expect(response.body).toEqual({
    status: 'ok',
    version: API_VERSION,
    checks: { database: 'ok', auth: 'ok' },
    answers: { status: 'ok', withdrawnSections: [], disabledTriggers: [] },
  })
  expect(response.headers['cache-control']).toBe('no-store')
})

test('health is degraded, and still 200, if the authorization server or the database is down', async () => {
  await using apiWithoutAuth = await startResource({ env: { RESOURCE_AUTH_URL: await findUnusedUrl() } })
  expect(await readHealth(apiWithoutAuth.origin)).toMatchObject({
    status: 200,
    body: { status: 'degraded', checks: { database: 'ok', auth: 'failed' } },
  })
  await using apiWithoutDatabase = await startResource({
    env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE_URL },
  })
  expect(await readHealth(apiWithoutDatabase.origin)).toMatchObject({
    status: 200,
    body: { status: 'degraded', checks: { database: 'failed', auth: 'ok' } },
  })
})

test('health checks the authorization server at most once a second', async () => {
  await using api = await startResource()
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: 50 }, () => readHealth(api.origin)))
  const seconds = Math.floor((performance.now() - startedAt) / 1_000)
  expect(api.auth.requests.keys).toBeGreaterThan(0)
  expect(api.auth.requests.keys).toBeLessThanOrEqual(1 + seconds)
})

// F-36 is the number of a fault in e2e/faults/fault-numbers.ts.
test('F-36 a process is not ready while PostgreSQL or a migration is missing, and names what is missing; once ready, it stays ready until it drains', async () => {
  await using apiWithoutDatabase = await startResource({
    env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE_URL },
  })
  expect(await apiWithoutDatabase.resource.readiness.check()).toEqual({
    ready: false,
    checks: { schema: 'failed', guides: 'ok', clock: 'ok' },
    awaited: { schema: 'PostgreSQL' },
  })
  await using api = await startResource()
  await api.db.query("delete from schema_migrations where name = '0001-waitlist'")
  expect(await api.resource.readiness.check()).toMatchObject({
    ready: false,
    awaited: { schema: 'migrations 0001-waitlist: run "resource migrate"' },
  })
  await api.db.query("insert into schema_migrations (name, run_on) values ('0001-waitlist', now())")
  expect((await api.resource.readiness.check()).ready).toBe(true)
  await api.db.query('drop table schema_migrations')
  expect((await api.resource.readiness.check()).ready).toBe(true)
  api.resource.readiness.drain()
  expect((await api.resource.readiness.check()).ready).toBe(false)
})
