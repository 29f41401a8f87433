import { expect, test } from 'vitest'
import { deadUrl } from './fake-authorization-server.ts'
import { sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const DEAD_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
const EMAIL = 'ana.secret@example.org'

/** A call as a client of 2025 makes it; one of revision 2026-07-28 is in e2e. */
const call = (origin: string, name: string, args: object, headers: Record<string, string> = {}) =>
  sendRequest(origin, {
    method: 'POST',
    path: '/api/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })

const resultOf = (body: string) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result

test('guides can be read without a database, and joining is 503 as on the route', async () => {
  await using api = await startResource({ env: { RESOURCE_DATABASE_URL: DEAD_DATABASE } })
  const guide = await call(api.origin, 'get_guide', { slug: 'work-permit' })
  expect(resultOf(guide.body).structuredContent).toMatchObject({ slug: 'work-permit' })
  for (const [name, args] of [
    ['join_waitlist', { email: EMAIL }],
    ['get_guide', { slug: 'work-permit', version: 9 }],
  ] as const) {
    const response = await call(api.origin, name, args)
    expect(response.status).toBe(503)
    expect(response.headers).toMatchObject({ 'retry-after': '2', 'cache-control': 'no-store' })
    expect(response.json()).toMatchObject({ code: 'unavailable' })
  }
  expect(api.logged.join('\n')).not.toContain(EMAIL)
})

test('a token is 503 without an authorization server, and everything works without a token', async () => {
  await using api = await startResource({ env: { RESOURCE_AUTH_URL: await deadUrl() } })
  const authorization = `Bearer ppt_${'A'.repeat(43)}`
  expect((await call(api.origin, 'list_guides', {}, { authorization })).status).toBe(503)
  expect((await call(api.origin, 'list_guides', {})).status).toBe(200)
})

test('an internal error is 500, is logged with its cause, and discloses no input', async () => {
  await using api = await startResource()
  await api.db.query('alter table waitlist_entries rename to elsewhere')
  const response = await call(api.origin, 'join_waitlist', { email: EMAIL })
  expect(response.status).toBe(500)
  expect(response.json()).toMatchObject({ code: 'internal-error' })
  expect(response.body).not.toMatch(/waitlist_entries|relation/)
  const logged = api.logged.join('\n')
  expect(logged).toMatch(/"code":"42P01"/)
  expect(logged).not.toContain(EMAIL)
})

test('a token of another service, or for nothing, is refused or accepted as on a public route', async () => {
  await using api = await startResource()
  const refused = await call(api.origin, 'list_guides', {}, { authorization: 'Bearer nonsense' })
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toMatch(/error="invalid_token"/)
  const authorization = `Bearer ${api.auth.issue()}`
  const accepted = await call(api.origin, 'list_guides', {}, { authorization })
  expect(accepted.status).toBe(200)
  expect(accepted.headers['ratelimit-policy']).toMatch(/"reads-client"/)
})

test('the page of another site may call only when its origin is configured; another Host is 421', async () => {
  const friend = 'https://app.example.org'
  await using api = await startResource({ env: { RESOURCE_CORS_ORIGINS: friend } })
  const allowed = await call(api.origin, 'list_guides', {}, { origin: friend })
  expect(allowed.status).toBe(200)
  expect(allowed.headers['access-control-allow-origin']).toBe(friend)
  const preflight = await sendRequest(api.origin, {
    method: 'OPTIONS',
    path: '/api/mcp',
    headers: { origin: friend, 'access-control-request-method': 'POST' },
  })
  expect(preflight.headers['access-control-allow-headers']).toMatch(
    /MCP-Protocol-Version, Mcp-Method, Mcp-Name/,
  )
  const refused = await call(api.origin, 'list_guides', {}, { origin: 'https://evil.example' })
  expect(refused.status).toBe(403)
  expect(refused.json()).toMatchObject({ code: 'cross-site-request' })
  expect((await call(api.origin, 'list_guides', {}, { host: 'evil.example' })).status).toBe(421)
})
