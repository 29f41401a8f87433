import { createServiceUrls, MCP_TOOLS } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createToolCall, ERAS, FIRST_MESSAGE, parseMessage, sendMessage } from './mcp-messages.ts'
import { createPost, type HttpResponse, sendRequest } from './send-request.ts'
import { type ContactApi, newMessage, startContact } from './start-contact.ts'

/** In ChatGPT, a 401 to a tool call opens no sign-in, so the result has the challenge instead. Other apps get the 401. */
const CHATGPT_USER_AGENT = 'openai-mcp/1.0.0 (ChatGPT)'

let contact: ContactApi
let origin: string
beforeAll(async () => {
  // A hold of ten minutes, so that messages can still be withdrawn.
  contact = await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' } })
  origin = contact.api.origin
})
afterAll(() => contact[Symbol.asyncDispose]())

type Message = Parameters<typeof sendMessage>[2]
const send = (message: Message, token?: string, headers: Record<string, string> = {}) =>
  sendMessage(origin, '/mcp', message, {
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })

/** Issues a token as an app gets it for a person who signed in. */
const issueToken = (name: string, overrides: Record<string, unknown> = {}) =>
  contact.issueToken(`${name}@example.org`, `reg_${name}`, {
    aud: createServiceUrls(origin).signedInMcp,
    scope: 'contact:write',
    ...overrides,
  })

/** Formats a challenge. @param error the parameter `error` and the comma after it; by default, the challenge has none */
const formatChallenge = (error = '') =>
  `Bearer realm="plainpath", ${error}scope="contact:write", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`

const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': expect.stringContaining('WWW-Authenticate'),
}

/**
 * Expects a 401 that makes hosts (chat apps) begin the sign-in.
 *
 * @param error as for `formatChallenge`
 * @param corsHeaders the headers that allow scripts to read the response
 */
function expectChallenge(refusal: HttpResponse, error = '', corsHeaders: object = CORS_HEADERS): void {
  expect(refusal.status).toBe(401)
  expect(refusal.headers).toMatchObject({
    'www-authenticate': formatChallenge(error),
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...corsHeaders,
  })
}

const MESSAGES: [string, Message][] = [
  ...ERAS.flatMap((era): [string, Message][] => [
    [`the first message of ${era}`, FIRST_MESSAGE[era]],
    [`tools/list of ${era}`, { era, method: 'tools/list' }],
    [`a tool that only reads, in ${era}`, createToolCall('list_guides', {}, era)],
    [`a tool for messages, in ${era}`, createToolCall('send_contact_message', newMessage(), era)],
  ]),
  ['a notification', { method: 'notifications/initialized' }],
  ['ping', { method: 'ping' }],
  ['an unknown method', { method: 'nothing' }],
]

describe('without a token, the response is a 401 that begins the sign-in', () => {
  test.for(MESSAGES)('%s', async ([, message]) => {
    const refusal = await send(message)
    expectChallenge(refusal)
    expect(refusal.json()).toMatchObject({ error: 'invalid_token', code: 'token-required' })
  })

  test.for([undefined, '', '{', '[]', '{}', 'x'.repeat(70_000)])('with the body %j', async (body) => {
    const accept = 'application/json, text/event-stream'
    expectChallenge(
      await sendRequest(origin, {
        method: 'POST',
        path: '/mcp',
        headers: { accept, 'content-type': 'application/json', 'user-agent': 'python-httpx/0.28' },
        ...(body !== undefined && { body }),
      }),
    )
  })

  test.for(['GET', 'DELETE', 'HEAD'])('with %s, which is 405 with a token', async (method) => {
    const sendWith = (headers: Record<string, string> = {}) =>
      sendRequest(origin, { method, path: '/mcp', headers })
    // Scripts of other origins may only send GET, HEAD and POST.
    expectChallenge(
      await sendWith({ accept: 'text/event-stream' }),
      '',
      method === 'DELETE' ? {} : CORS_HEADERS,
    )
    const refusal = await sendWith({ authorization: `Bearer ${issueToken('ana')}` })
    expect([refusal.status, refusal.headers['allow']]).toEqual([405, 'POST'])
  })
})

describe('a token is refused', () => {
  const { base, mcp } = createServiceUrls('https://plainpath.example')
  test.for<[string, () => string]>([
    ['that is malformed', () => 'nonsense'],
    ['that is unknown', () => `ppt_${'A'.repeat(43)}`],
    ['that is for the API', () => issueToken('ana', { aud: createServiceUrls(origin).base })],
    ['that is for the MCP server of agents', () => issueToken('ana', { aud: createServiceUrls(origin).mcp })],
    ['that is for this address with a slash', () => issueToken('ana', { aud: `${origin}/mcp/` })],
    ['that is for the origin', () => issueToken('ana', { aud: origin })],
    ['that is for another service', () => issueToken('ana', { aud: [base, mcp] })],
    ['that has expired', () => issueToken('ana', { exp: Math.floor(Date.now() / 1000) - 1 })],
  ])('%s', async ([, getToken]) => {
    const rowsBefore = await contact.countStoredRows()
    const refusal = await send(createToolCall('send_contact_message', newMessage()), getToken())
    expectChallenge(refusal, 'error="invalid_token", ')
    expect(refusal.json()).toMatchObject({ error: 'invalid_token', code: 'invalid-token' })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect((await send({ method: 'tools/list' }, issueToken('ana'))).status).toBe(200)
  })

  test('that was revoked', async () => {
    const token = issueToken('ana')
    expect((await send({ method: 'tools/list' }, token)).status).toBe(200)
    contact.api.auth.revoke(token)
    expectChallenge(await send({ method: 'tools/list' }, token), 'error="invalid_token", ')
  })

  test('that lacks the scope, with a challenge that names it', async () => {
    const refusal = await send({ method: 'tools/list' }, issueToken('ana', { scope: 'guides:read' }))
    expect([refusal.status, refusal.headers['www-authenticate']]).toEqual([
      403,
      formatChallenge('error="insufficient_scope", '),
    ])
  })

  test('that is in the query', async () => {
    const path = `/mcp?access_token=${issueToken('ana')}`
    const refusal = await sendMessage(origin, path, { method: 'tools/list' })
    expect(refusal.status).toBe(400)
  })
})

test.for<[string, (token: string) => Promise<HttpResponse>]>([
  ['GET /api/guides', (token) => sendRequest(origin, { path: '/api/guides', headers: bearer(token) })],
  ['POST /api/contact', (token) => contact.send(token, newMessage())],
  [
    'POST /api/waitlist',
    (token) =>
      sendRequest(origin, {
        path: '/api/waitlist',
        ...createPost({ email: 'x@example.org' }, bearer(token)),
      }),
  ],
  [
    'POST /api/mcp',
    (token) => sendMessage(origin, '/api/mcp', { method: 'tools/list' }, { headers: bearer(token) }),
  ],
])('a token for /mcp is refused at %s', async ([, sendWith]) => {
  const rowsBefore = await contact.countStoredRows()
  const refusal = await sendWith(issueToken('ana'))
  expect(refusal.status).toBe(401)
  expect(refusal.headers['www-authenticate']).toMatch(/error="invalid_token".*oauth-protected-resource\/api/)
  expect(await contact.countStoredRows()).toBe(rowsBefore)
  const { base } = createServiceUrls(origin)
  expect(
    (await sendWith(issueToken('ana', { aud: base, scope: 'contact:write waitlist:write' }))).status,
  ).toBeLessThan(300)
})
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe.for(ERAS)('a person with a client of %s', (era) => {
  const call = async (token: string, name: string, args: object) =>
    parseMessage(await send(createToolCall(name, args, era), token)).result.structuredContent

  test('who signed in is told so, and gets all tools', async () => {
    const { result } = parseMessage(await send(FIRST_MESSAGE[era], issueToken('ana')))
    expect(result.instructions).toContain('signed in with their e-mail address')
    expect(result.capabilities).toEqual({ tools: { listChanged: false } })
    const listResponse = parseMessage(await send({ era, method: 'tools/list' }, issueToken('ana')))
    expect(listResponse.result.tools.map(({ name }: { name: string }) => name)).toEqual(
      Object.keys(MCP_TOOLS),
    )
  })

  test('who signed in sends a message, looks it up and withdraws it, and others cannot see it', async () => {
    const token = issueToken(`ben-${era}`)
    const { id, status } = await call(token, 'send_contact_message', newMessage())
    expect(status).toBe('received')
    expect(await call(token, 'get_contact_message', { id })).toMatchObject({ id, status: 'received' })
    expect(await call(token, 'withdraw_contact_message', { id })).toEqual({ id, status: 'erased' })
    const othersResponse = await send(createToolCall('get_contact_message', { id }, era), issueToken('eve'))
    expect(parseMessage(othersResponse).result).toMatchObject({ isError: true })
  })

  test('who has no valid token is challenged in the result of a tool call, if the host is ChatGPT', async () => {
    const rowsBefore = await contact.countStoredRows()
    const message = createToolCall('send_contact_message', newMessage(), era)
    for (const [token, error] of [
      [undefined, ''],
      [`ppt_${'A'.repeat(43)}`, 'error="invalid_token", '],
      [issueToken('ana', { aud: createServiceUrls(origin).base }), 'error="invalid_token", '],
    ] as const) {
      const response = await send(message, token, { 'user-agent': CHATGPT_USER_AGENT })
      expect([response.status, response.headers['content-type']]).toEqual([200, 'application/json'])
      expect(response.headers).not.toHaveProperty('www-authenticate')
      const { id, result } = response.json() as { id: number; result: Record<string, unknown> }
      // The id of every message that `sendMessage` sends.
      expect(id).toBe(7)
      expect(result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringMatching(/sign in/) }],
      })
      expect(result['resultType']).toBe(era === '2026-07-28' ? 'complete' : undefined)
      const [challenge = '', ...otherChallenges] =
        (result['_meta'] as Record<string, string[]>)['mcp/www_authenticate'] ?? []
      expect(otherChallenges).toEqual([])
      expect(challenge.startsWith(formatChallenge(error))).toBe(true)
      expect(challenge.match(/\berror="invalid_token"/g)).toHaveLength(1)
      expect(challenge).toMatch(/, error_description="[^"\\]+"$/)
    }
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    const sendResponse = parseMessage(
      await send(message, issueToken(`gus-${era}`), { 'user-agent': CHATGPT_USER_AGENT }),
    )
    expect(sendResponse.result.structuredContent).toMatchObject({ status: 'received' })
  })
})

describe('ChatGPT gets a 401 for', () => {
  test.for<[string, Message | undefined, string?]>([
    ['initialize', FIRST_MESSAGE['2025-11-25']],
    ['server/discover', FIRST_MESSAGE['2026-07-28']],
    ['tools/list', { method: 'tools/list' }],
    ['a tools/call that is not a JSON-RPC message', undefined, '{"method":"tools/call"}'],
    ['a batch', undefined, `[${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call' })}]`],
    ['a call without an id', undefined, '{"jsonrpc":"2.0","method":"tools/call"}'],
    ['invalid JSON', undefined, '{'],
    // The maximum is 64 KiB.
    ['a body that is too large', undefined, 'x'.repeat(70_000)],
  ])('%s', async ([, message, body]) => {
    const overrides = { headers: { 'user-agent': CHATGPT_USER_AGENT }, ...(body !== undefined && { body }) }
    expectChallenge(await sendMessage(origin, '/mcp', message ?? { method: 'tools/call' }, overrides))
  })
})

test.for([
  'Claude-User',
  'claude-code/2.1',
  'python-httpx/0.28',
  'Mozilla/5.0 openai-mcp/1.0',
  'openai-mcpx/1',
  '',
])('a tool call without a token gets a 401 for the user agent %j', async (userAgent) => {
  expectChallenge(await send(createToolCall('list_guides'), undefined, { 'user-agent': userAgent }))
})

test('the response is 503 without a challenge if the authorization server fails, also for ChatGPT', async () => {
  contact.api.auth.tamper((reply) => {
    reply.status = 500
  })
  for (const userAgent of [CHATGPT_USER_AGENT, 'Claude-User']) {
    const refusal = await send(createToolCall('list_guides'), issueToken('ana'), { 'user-agent': userAgent })
    expect(refusal.status).toBe(503)
    expect(refusal.headers).not.toHaveProperty('www-authenticate')
  }
  contact.api.auth.stopTampering()
  expect((await send(createToolCall('list_guides'), issueToken('ana'))).status).toBe(200)
})

test('a script of any origin may send requests, and read the challenge', async () => {
  const headers = { origin: 'http://localhost:6274', 'sec-fetch-site': 'cross-site' }
  expectChallenge(await send({ method: 'tools/list' }, undefined, headers))
  const response = await send({ method: 'tools/list' }, issueToken('ana'), headers)
  expect([response.status, response.headers['access-control-allow-origin']]).toEqual([200, '*'])
  const preflight = await sendRequest(origin, {
    method: 'OPTIONS',
    path: '/mcp',
    headers: { ...headers, 'access-control-request-method': 'POST' },
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': expect.stringContaining('Authorization'),
  })
})

test('a request counts against an anonymous limit without a token, and against that of its client with one', async () => {
  const getPolicies = async (token?: string) =>
    (await send({ method: 'tools/list' }, token)).headers['ratelimit-policy']
  expect(await getPolicies()).toMatch(/"reads-anonymous"/)
  expect(await getPolicies(issueToken('ana'))).toMatch(/"reads-client"/)
})
