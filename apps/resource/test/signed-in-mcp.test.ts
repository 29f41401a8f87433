import { MCP_TOOLS, serviceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContactApi, newMessage, startContact } from './contact-client.ts'
import { ERAS, FIRST_MESSAGE, readMessage, sendMessage, toolCall } from './mcp-messages.ts'
import { type HttpResponse, posting, sendRequest } from './send-request.ts'

const CHATGPT = 'openai-mcp/1.0.0 (ChatGPT)'

let contact: ContactApi
let origin: string
beforeAll(async () => {
  contact = await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' } })
  ;({ origin } = contact.api)
})
afterAll(() => contact[Symbol.asyncDispose]())

type Message = Parameters<typeof sendMessage>[2]
const send = (message: Message, token?: string, headers: Record<string, string> = {}) =>
  sendMessage(origin, '/mcp', message, {
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })

/** A token as an app gets it for a person who signed in. */
const tokenOf = (name: string, change: Record<string, unknown> = {}) =>
  contact.tokenOf(`${name}@example.org`, `reg_${name}`, {
    aud: serviceUrls(origin).signedInMcp,
    scope: 'contact:write',
    ...change,
  })

const challenge = (error = '') =>
  `Bearer realm="plainpath", ${error}scope="contact:write", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`

const READABLE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': expect.stringContaining('WWW-Authenticate'),
}

/** Checks a refusal that makes hosts begin the sign-in. @param readable the headers that let scripts read it */
function expectChallenge(refused: HttpResponse, error = '', readable: object = READABLE): void {
  expect(refused.status).toBe(401)
  expect(refused.headers).toMatchObject({
    'www-authenticate': challenge(error),
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...readable,
  })
}

const MESSAGES: [string, Message][] = [
  ...ERAS.flatMap((era): [string, Message][] => [
    [`the first message of ${era}`, FIRST_MESSAGE[era]],
    [`tools/list of ${era}`, { era, method: 'tools/list' }],
    [`a tool that only reads, in ${era}`, toolCall('list_guides', {}, era)],
    [`a tool for messages, in ${era}`, toolCall('send_contact_message', newMessage(), era)],
  ]),
  ['a notification', { method: 'notifications/initialized' }],
  ['ping', { method: 'ping' }],
  ['an unknown method', { method: 'nothing' }],
]

describe('without a token, every request is asked to sign in', () => {
  test.for(MESSAGES)('%s', async ([, message]) => {
    const refused = await send(message)
    expectChallenge(refused)
    expect(refused.json()).toMatchObject({ error: 'invalid_token', code: 'token-required' })
  })

  test.for([undefined, '', '{', '[]', '{}', 'x'.repeat(20_000)])('also with the body %j', async (body) => {
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

  test.for(['GET', 'DELETE', 'HEAD'])('also with %s, which is 405 with a token', async (method) => {
    const sendWith = (headers: Record<string, string> = {}) =>
      sendRequest(origin, { method, path: '/mcp', headers })
    expectChallenge(await sendWith({ accept: 'text/event-stream' }), '', method === 'DELETE' ? {} : READABLE)
    const refused = await sendWith({ authorization: `Bearer ${tokenOf('ana')}` })
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'POST'])
  })
})

describe('a token is refused', () => {
  const { base, mcp } = serviceUrls('https://plainpath.example')
  test.for<[string, () => string]>([
    ['that is none', () => 'nonsense'],
    ['that is unknown', () => `ppt_${'A'.repeat(43)}`],
    ['that is for the API', () => tokenOf('ana', { aud: serviceUrls(origin).base })],
    ['that is for the MCP server of agents', () => tokenOf('ana', { aud: serviceUrls(origin).mcp })],
    ['that is for this address with a slash', () => tokenOf('ana', { aud: `${origin}/mcp/` })],
    ['that is for the origin', () => tokenOf('ana', { aud: origin })],
    ['that is for another service', () => tokenOf('ana', { aud: [base, mcp] })],
    ['that has expired', () => tokenOf('ana', { exp: Math.floor(Date.now() / 1000) - 1 })],
  ])('%s', async ([, token]) => {
    const keptBefore = await contact.kept()
    const refused = await send(toolCall('send_contact_message', newMessage()), token())
    expectChallenge(refused, 'error="invalid_token", ')
    expect(refused.json()).toMatchObject({ error: 'invalid_token', code: 'invalid-token' })
    expect(await contact.kept()).toBe(keptBefore)
    expect((await send({ method: 'tools/list' }, tokenOf('ana'))).status).toBe(200)
  })

  test('that was revoked', async () => {
    const token = tokenOf('ana')
    expect((await send({ method: 'tools/list' }, token)).status).toBe(200)
    contact.api.auth.revoke(token)
    expectChallenge(await send({ method: 'tools/list' }, token), 'error="invalid_token", ')
  })

  test('that lacks the scope, with a challenge that names it', async () => {
    const refused = await send({ method: 'tools/list' }, tokenOf('ana', { scope: 'guides:read' }))
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      403,
      challenge('error="insufficient_scope", '),
    ])
  })

  test('in the query, and nothing is done', async () => {
    const path = `/mcp?access_token=${tokenOf('ana')}`
    const refused = await sendMessage(origin, path, { method: 'tools/list' })
    expect(refused.status).toBe(400)
  })
})

test.for<[string, (token: string) => Promise<HttpResponse>]>([
  ['GET /api/guides', (token) => sendRequest(origin, { path: '/api/guides', headers: bearer(token) })],
  ['POST /api/contact', (token) => contact.send(token, newMessage())],
  [
    'POST /api/waitlist',
    (token) =>
      sendRequest(origin, { path: '/api/waitlist', ...posting({ email: 'x@example.org' }, bearer(token)) }),
  ],
  [
    'POST /api/mcp',
    (token) => sendMessage(origin, '/api/mcp', { method: 'tools/list' }, { headers: bearer(token) }),
  ],
])('a token of an app is no good at %s', async ([, use]) => {
  const keptBefore = await contact.kept()
  const refused = await use(tokenOf('ana'))
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toMatch(/error="invalid_token".*oauth-protected-resource\/api/)
  expect(await contact.kept()).toBe(keptBefore)
  const { base } = serviceUrls(origin)
  expect(
    (await use(tokenOf('ana', { aud: base, scope: 'contact:write waitlist:write' }))).status,
  ).toBeLessThan(300)
})
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe.for(ERAS)('a person who signed in, with a client of %s,', (era) => {
  const call = async (token: string, name: string, args: object) =>
    readMessage(await send(toolCall(name, args, era), token)).result.structuredContent

  test('has all tools', async () => {
    const { result } = readMessage(await send(FIRST_MESSAGE[era], tokenOf('ana')))
    expect(result.instructions).toContain('signed in with their e-mail address')
    expect(result.capabilities).toEqual({ tools: { listChanged: false } })
    const listed = readMessage(await send({ era, method: 'tools/list' }, tokenOf('ana')))
    expect(listed.result.tools.map(({ name }: { name: string }) => name)).toEqual(Object.keys(MCP_TOOLS))
  })

  test('sends a message, looks it up and withdraws it', async () => {
    const token = tokenOf(`ben-${era}`)
    const { id, status } = await call(token, 'send_contact_message', newMessage())
    expect(status).toBe('received')
    expect(await call(token, 'get_contact_message', { id })).toMatchObject({ id, status: 'received' })
    expect(await call(token, 'withdraw_contact_message', { id })).toEqual({ id, status: 'erased' })
    const other = await send(toolCall('get_contact_message', { id }, era), tokenOf('eve'))
    expect(readMessage(other).result).toMatchObject({ isError: true })
  })

  test('is challenged in the result of a tool call, if the host is ChatGPT', async () => {
    const keptBefore = await contact.kept()
    const message = toolCall('send_contact_message', newMessage(), era)
    for (const [token, error] of [
      [undefined, ''],
      [`ppt_${'A'.repeat(43)}`, 'error="invalid_token", '],
      [tokenOf('ana', { aud: serviceUrls(origin).base }), 'error="invalid_token", '],
    ] as const) {
      const answered = await send(message, token, { 'user-agent': CHATGPT })
      expect([answered.status, answered.headers['content-type']]).toEqual([200, 'application/json'])
      expect(answered.headers).not.toHaveProperty('www-authenticate')
      const { id, result } = answered.json() as { id: number; result: Record<string, unknown> }
      expect(id).toBe(7)
      expect(result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringMatching(/sign in/) }],
      })
      expect(result['resultType']).toBe(era === '2026-07-28' ? 'complete' : undefined)
      const [value = '', ...more] =
        (result['_meta'] as Record<string, string[]>)['mcp/www_authenticate'] ?? []
      expect(more).toEqual([])
      expect(value.startsWith(challenge(error))).toBe(true)
      expect(value.match(/\berror="invalid_token"/g)).toHaveLength(1)
      expect(value).toMatch(/, error_description="[^"\\]+"$/)
    }
    expect(await contact.kept()).toBe(keptBefore)
    const sent = readMessage(await send(message, tokenOf(`gus-${era}`), { 'user-agent': CHATGPT }))
    expect(sent.result.structuredContent).toMatchObject({ status: 'received' })
  })
})

describe('ChatGPT gets the 401, too, with', () => {
  test.for<[string, Message | undefined, string?]>([
    ['initialize', FIRST_MESSAGE['2025-11-25']],
    ['server/discover', FIRST_MESSAGE['2026-07-28']],
    ['tools/list', { method: 'tools/list' }],
    ['a body that is no message', undefined, '{"method":"tools/call"}'],
    ['a batch', undefined, `[${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call' })}]`],
    ['a call without an id', undefined, '{"jsonrpc":"2.0","method":"tools/call"}'],
    ['no JSON', undefined, '{'],
    ['a body that is too large', undefined, 'x'.repeat(20_000)],
  ])('%s', async ([, message, body]) => {
    const sent = { headers: { 'user-agent': CHATGPT }, ...(body !== undefined && { body }) }
    expectChallenge(await sendMessage(origin, '/mcp', message ?? { method: 'tools/call' }, sent))
  })
})

test.for([
  'Claude-User',
  'claude-code/2.1',
  'python-httpx/0.28',
  'Mozilla/5.0 openai-mcp/1.0',
  'openai-mcpx/1',
  '',
])('the 401 of a tool call stays one for the host %j', async (agent) => {
  expectChallenge(await send(toolCall('list_guides'), undefined, { 'user-agent': agent }))
})

test('the response without an authorization server is 503, without a challenge, for each host', async () => {
  contact.api.auth.tamper((answer) => {
    answer.status = 500
  })
  for (const agent of [CHATGPT, 'Claude-User']) {
    const refused = await send(toolCall('list_guides'), tokenOf('ana'), { 'user-agent': agent })
    expect(refused.status).toBe(503)
    expect(refused.headers).not.toHaveProperty('www-authenticate')
  }
  contact.api.auth.tamper()
  expect((await send(toolCall('list_guides'), tokenOf('ana'))).status).toBe(200)
})

test('a script of any origin may call, and read the challenge', async () => {
  const headers = { origin: 'http://localhost:6274', 'sec-fetch-site': 'cross-site' }
  expectChallenge(await send({ method: 'tools/list' }, undefined, headers))
  const answered = await send({ method: 'tools/list' }, tokenOf('ana'), headers)
  expect([answered.status, answered.headers['access-control-allow-origin']]).toEqual([200, '*'])
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

test('requests count against the limits of the address without a token, and of the client with one', async () => {
  const policies = async (token?: string) =>
    (await send({ method: 'tools/list' }, token)).headers['ratelimit-policy']
  expect(await policies()).toMatch(/"reads-anonymous"/)
  expect(await policies(tokenOf('ana'))).toMatch(/"reads-client"/)
})
