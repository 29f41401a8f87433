import { expect, test } from 'vitest'
import { findUnusedUrl } from './fake-authorization-server.ts'
import { sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const UNREACHABLE_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
const EMAIL = 'ana.secret@example.org'

/** Calls a tool as a client of revision 2025-11-25 does. Calls of revision 2026-07-28 are tested in e2e/in-process/mcp.test.ts. */
const callTool = (origin: string, name: string, args: object, headers: Record<string, string> = {}) =>
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

const parseResult = (body: string) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result

test('without a database, guides can be read, and joining the waitlist or reading another version of a guide gets 503', async () => {
  await using api = await startResource({ env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE } })
  const guide = await callTool(api.origin, 'get_guide', { slug: 'work-permit' })
  expect(parseResult(guide.body).structuredContent).toMatchObject({ slug: 'work-permit' })
  for (const [name, args] of [
    ['join_waitlist', { email: EMAIL }],
    ['get_guide', { slug: 'work-permit', version: 9 }],
  ] as const) {
    const response = await callTool(api.origin, name, args)
    expect(response.status).toBe(503)
    expect(response.headers).toMatchObject({ 'retry-after': '2', 'cache-control': 'no-store' })
    expect(response.json()).toMatchObject({ code: 'unavailable' })
  }
  expect(api.logLines.join('\n')).not.toContain(EMAIL)
})

test('get_guide describes a version beyond the range of the database to the model, as any other invalid argument', async () => {
  await using api = await startResource()
  const response = await callTool(api.origin, 'get_guide', { slug: 'work-permit', version: 2 ** 31 })
  expect(response.status, response.body).toBe(200)
  expect(parseResult(response.body)).toMatchObject({ isError: true })
})

test('without an authorization server, a call with a token gets 503, and a call without one succeeds', async () => {
  await using api = await startResource({ env: { RESOURCE_AUTH_URL: await findUnusedUrl() } })
  const authorization = `Bearer ppt_${'A'.repeat(43)}`
  expect((await callTool(api.origin, 'list_guides', {}, { authorization })).status).toBe(503)
  expect((await callTool(api.origin, 'list_guides', {})).status).toBe(200)
})

test('an internal error causes a 500 without its cause, and is logged with its cause and without input', async () => {
  await using api = await startResource()
  await api.db.query('alter table waitlist_entries rename to elsewhere')
  const response = await callTool(api.origin, 'join_waitlist', { email: EMAIL })
  expect(response.status).toBe(500)
  expect(response.json()).toMatchObject({ code: 'internal-error' })
  expect(response.body).not.toMatch(/waitlist_entries|relation/)
  const log = api.logLines.join('\n')
  expect(log).toMatch(/"code":"42P01"/)
  expect(log).not.toContain(EMAIL)
})

test('a call with an invalid token gets 401, and a call with a valid one counts against the limits of its client', async () => {
  await using api = await startResource()
  const refusal = await callTool(api.origin, 'list_guides', {}, { authorization: 'Bearer nonsense' })
  expect(refusal.status).toBe(401)
  expect(refusal.headers['www-authenticate']).toMatch(/error="invalid_token"/)
  const authorization = `Bearer ${api.auth.issue()}`
  const acceptedResponse = await callTool(api.origin, 'list_guides', {}, { authorization })
  expect(acceptedResponse.status).toBe(200)
  expect(acceptedResponse.headers['ratelimit-policy']).toMatch(/"reads-client"/)
})

test('another site may call tools only if its origin is configured, and a call with another Host gets 421', async () => {
  const configuredOrigin = 'https://app.example.org'
  await using api = await startResource({ env: { RESOURCE_CORS_ORIGINS: configuredOrigin } })
  const allowedResponse = await callTool(api.origin, 'list_guides', {}, { origin: configuredOrigin })
  expect(allowedResponse.status).toBe(200)
  expect(allowedResponse.headers['access-control-allow-origin']).toBe(configuredOrigin)
  const preflight = await sendRequest(api.origin, {
    method: 'OPTIONS',
    path: '/api/mcp',
    headers: { origin: configuredOrigin, 'access-control-request-method': 'POST' },
  })
  expect(preflight.headers['access-control-allow-headers']).toMatch(
    /MCP-Protocol-Version, Mcp-Method, Mcp-Name/,
  )
  const refusal = await callTool(api.origin, 'list_guides', {}, { origin: 'https://evil.example' })
  expect(refusal.status).toBe(403)
  expect(refusal.json()).toMatchObject({ code: 'cross-site-request' })
  expect((await callTool(api.origin, 'list_guides', {}, { host: 'evil.example' })).status).toBe(421)
})
