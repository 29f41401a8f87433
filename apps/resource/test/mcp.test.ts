import { loadGuides } from '@plainpath/guides'
import { expect, test } from 'vitest'
import { findUnusedUrl } from './fake-authorization-server.ts'
import { sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const UNREACHABLE_DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none'
const EMAIL = 'ana.secret@example.org'

/**
 * Calls a tool with a message of the MCP revisions of 2025, without the header `MCP-Protocol-Version`. Other tests send calls of
 * revision 2026-07-28: mcp-forms.test.ts, signed-in-mcp.test.ts and e2e/in-process/mcp.test.ts.
 */
const callTool = (origin: string, name: string, args?: object, headers: Record<string, string> = {}) =>
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

/** Parses the result from the single event of a response. Returns undefined for a problem document, which is no event. */
const parseResult = (body: string) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result

test('without a database, get_guide returns the current version, and calls that need the database get 503', async () => {
  await using api = await startResource({ env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE_URL } })
  const guide = await callTool(api.origin, 'get_guide', { slug: 'work-permit' })
  const packagedGuide = loadGuides().find(({ slug }) => slug === 'work-permit')
  expect(packagedGuide?.version).toBeGreaterThan(0)
  expect(parseResult(guide.body).structuredContent).toMatchObject({
    slug: 'work-permit',
    version: packagedGuide?.version,
  })
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

test('get_guide returns a tool error for a version number that exceeds the range of an integer column', async () => {
  await using api = await startResource()
  const response = await callTool(api.origin, 'get_guide', { slug: 'work-permit', version: 2 ** 31 })
  expect(response.status, response.body).toBe(200)
  expect(parseResult(response.body)).toMatchObject({ isError: true })
})

test('a wrong argument is a tool error that names it as the route does, and ends in the code', async () => {
  await using api = await startResource()
  for (const [name, args, text] of [
    ['search_guides', {}, '#/query: is missing; it must be a string. (invalid-request)'],
    ['search_guides', undefined, '#/query: is missing; it must be a string. (invalid-request)'],
    [
      'join_waitlist',
      { email: 'not an email' },
      '#/email: must be an e-mail address such as ana@example.org. (invalid-request)',
    ],
    [
      'search_guides',
      { query: ' ', page: 2 },
      '#/query: must say what to look for.\n#/page: is unknown; leave it out. (invalid-request)',
    ],
  ] as const) {
    const response = await callTool(api.origin, name, args)
    expect(response.status).toBe(200)
    expect(parseResult(response.body)).toEqual({ content: [{ type: 'text', text }], isError: true })
  }
  expect(await api.countWaitlistEntries()).toBe(0)
  const search = await callTool(api.origin, 'search_guides', { query: ' work permit ', limit: 1 })
  expect(parseResult(search.body).structuredContent).toMatchObject({ guides: [{ slug: 'work-permit' }] })
})

test('a limit that a tool counts is a tool error, and the limits of the route are a 429', async () => {
  // The limits are then one join per mailbox, and 12 calls.
  await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '0.1' } })
  const join = () => callTool(api.origin, 'join_waitlist', { email: EMAIL })
  expect(parseResult((await join()).body).structuredContent).toMatchObject({ status: 'joined' })
  const refusal = await join()
  expect(refusal.status).toBe(200)
  const { isError, content } = parseResult(refusal.body)
  expect(isError).toBe(true)
  expect(content[0].text).toMatch(
    /^The limit "waitlist-email" .* Try again in \d+ seconds\. \(rate-limited\)$/,
  )
  for (let count = 3; count <= 12; count += 1)
    expect((await callTool(api.origin, 'list_guides', {})).status).toBe(200)
  const routeRefusal = await callTool(api.origin, 'list_guides', {})
  expect(routeRefusal.status).toBe(429)
  expect(routeRefusal.headers['retry-after']).toMatch(/^\d+$/)
})

test('while the authorization server is unreachable, a call with a token gets 503, and a call without one succeeds', async () => {
  await using api = await startResource({ env: { RESOURCE_AUTH_URL: await findUnusedUrl() } })
  const authorization = `Bearer ppt_${'A'.repeat(43)}`
  expect((await callTool(api.origin, 'list_guides', {}, { authorization })).status).toBe(503)
  expect((await callTool(api.origin, 'list_guides', {})).status).toBe(200)
})

test('an internal error gets a 500 that hides the cause, and the log has the cause but not the input', async () => {
  await using api = await startResource()
  // The insert then fails with 42P01 (undefined_table).
  await api.db.query('alter table waitlist_entries rename to renamed_entries')
  const response = await callTool(api.origin, 'join_waitlist', { email: EMAIL })
  expect(response.status).toBe(500)
  expect(response.json()).toMatchObject({ code: 'internal-error' })
  expect(response.body).not.toMatch(/waitlist_entries|relation/)
  const log = api.logLines.join('\n')
  expect(log).toMatch(/"code":"42P01"/)
  expect(log).not.toContain(EMAIL)
})

test('a call with an invalid token gets 401, and the response to one with a valid token names the limit of its client', async () => {
  await using api = await startResource()
  const refusal = await callTool(api.origin, 'list_guides', {}, { authorization: 'Bearer nonsense' })
  expect(refusal.status).toBe(401)
  expect(refusal.headers['www-authenticate']).toMatch(/error="invalid_token"/)
  const authorization = `Bearer ${api.auth.issue()}`
  const acceptedResponse = await callTool(api.origin, 'list_guides', {}, { authorization })
  expect(acceptedResponse.status).toBe(200)
  expect(acceptedResponse.headers['ratelimit-policy']).toMatch(/"reads-client"/)
})

test('a cross-origin call is accepted only from a configured origin, and a call with another Host gets 421', async () => {
  const configuredOrigin = 'https://app.example.org'
  await using api = await startResource({ env: { RESOURCE_CORS_ORIGINS: configuredOrigin } })
  const acceptedResponse = await callTool(api.origin, 'list_guides', {}, { origin: configuredOrigin })
  expect(acceptedResponse.status).toBe(200)
  expect(acceptedResponse.headers['access-control-allow-origin']).toBe(configuredOrigin)
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
