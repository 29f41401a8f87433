import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, type RegisteredAgent, register, requestToken } from './agent-client.ts'
import {
  CANARY,
  countStored,
  expectProblem,
  expectRefusal,
  expectSafe,
  type Refusal,
} from './expect-refusal.ts'
import { formatRawRequest, send, sendRaw } from './send.ts'
import { ORIGIN, type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
let agent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth()
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

const BODY = 'grant_type=client_credentials'
const FORM_TYPE_HEADER = 'Content-Type: application/x-www-form-urlencoded'
const formatCredentialHeaders = () => [
  `Authorization: ${agentAuthHeader(agent).authorization}`,
  FORM_TYPE_HEADER,
]
const formatContentLength = (body: string) => `Content-Length: ${body.length}`
/** Formats a token request that is valid except for the change. */
const formatTokenRequest = (
  change: { line?: string; host?: string; headers?: string[]; body?: string } = {},
) => {
  const body = change.body ?? BODY
  return formatRawRequest(
    change.line ?? 'POST /oauth/token',
    [...formatCredentialHeaders(), ...(change.headers ?? [formatContentLength(body)])],
    body,
    change.host,
  )
}
/** Sends bytes and returns the first response. */
const sendOne = async (bytes: string) => (await sendRaw(auth.url, bytes))[0]!

const misdirectedRequest: Refusal = {
  status: 421,
  code: 'misdirected-request',
  says: `available at ${ORIGIN} only. Nothing was done.`,
}
const invalidRequest: Refusal = { status: 400, code: 'invalid-request' }

test('the valid request, which the tests below change, gets a token', async () => {
  expect((await sendOne(formatTokenRequest())).status).toBe(200)
})

describe('the Host header', () => {
  test.for(['plainpath.example', 'PLAINPATH.example', 'plainpath.example:443'])(
    '%s is accepted',
    async (host) => {
      expect((await sendOne(formatTokenRequest({ host }))).status).toBe(200)
    },
  )

  test.for([
    ['another host', { host: 'evil.example' }, misdirectedRequest],
    ['a host that begins with our host', { host: 'plainpath.example.evil.example' }, misdirectedRequest],
    ['our host with another port', { host: 'plainpath.example:8080' }, misdirectedRequest],
    ['our host after a user name', { host: 'user@plainpath.example' }, invalidRequest],
    ['our host as the user name of another host', { host: 'plainpath.example@evil.example' }, invalidRequest],
    ['our host and another host after a space', { host: 'plainpath.example evil.example' }, invalidRequest],
    ['an IPv6 address without a closing bracket', { host: '[::1' }, invalidRequest],
    ['our host with port 0', { host: 'plainpath.example:0' }, misdirectedRequest],
    ['our host with port 99999', { host: 'plainpath.example:99999' }, misdirectedRequest],
    ['our host with a trailing dot', { host: 'plainpath.example.' }, misdirectedRequest],
    ['an empty host', { host: '' }, invalidRequest],
    [
      'our host in two headers',
      { headers: ['Host: plainpath.example', formatContentLength(BODY)] },
      invalidRequest,
    ],
    [
      'our host, with another host in the request target',
      { line: 'POST http://evil.example/oauth/token' },
      misdirectedRequest,
    ],
    [
      'another host, with our host in the request target',
      { line: 'POST http://plainpath.example/oauth/token', host: 'evil.example' },
      misdirectedRequest,
    ],
  ] satisfies [string, Parameters<typeof formatTokenRequest>[0], Refusal][])(
    '%s is refused, and nothing is stored',
    async ([_title, change, expected]) => {
      await expectRefusal(auth, () => sendOne(formatTokenRequest(change)), expected)
    },
  )

  test('is not replaced by X-Forwarded-Host or Forwarded', async () => {
    const headers = [
      'X-Forwarded-Host: evil.example',
      'Forwarded: host=evil.example',
      formatContentLength(BODY),
    ]
    expect((await sendOne(formatTokenRequest({ headers }))).status).toBe(200)
    const forgedRequest = formatRawRequest(
      'GET /.well-known/oauth-authorization-server',
      ['X-Forwarded-Host: plainpath.example'],
      '',
      'evil.example',
    )
    expectProblem(await sendOne(forgedRequest), { ...misdirectedRequest, errorFormat: 'problem' })
  })

  test('may be repeated in an absolute request target', async () => {
    expect((await sendOne(formatTokenRequest({ line: `POST ${ORIGIN}/oauth/token` }))).status).toBe(200)
  })

  test('is not checked by the internal listener', async () => {
    const request = formatRawRequest('GET /oauth/jwks.json', [], '', 'auth.internal:8091')
    expect((await sendRaw(auth.internalUrl, request))[0]?.status).toBe(200)
  })
})

describe('a body', () => {
  /** Encodes a body for `Transfer-Encoding: chunked`. */
  const encodeChunks = (...chunks: string[]) =>
    [...chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`), '0\r\n\r\n'].join('')
  const CHUNKED = 'Transfer-Encoding: chunked'

  test('is read in chunks', async () => {
    const body = encodeChunks(BODY.slice(0, 5), BODY.slice(5))
    expect((await sendOne(formatTokenRequest({ headers: [CHUNKED], body }))).status).toBe(200)
  })

  test('is accepted with a trailer, which is ignored', async () => {
    const trailer = 'Authorization: Basic AAAA\r\n'
    // A trailer follows the last chunk, which has the length 0.
    const body = encodeChunks(BODY).replace(/0\r\n\r\n$/, `0\r\n${trailer}\r\n`)
    expect(
      (await sendOne(formatTokenRequest({ headers: [CHUNKED, 'Trailer: Authorization'], body }))).status,
    ).toBe(200)
  })

  test('is refused over 64 KiB in chunks', async () => {
    const body = encodeChunks(BODY, `&x=${'x'.repeat(33_000)}`, 'x'.repeat(33_000))
    await expectRefusal(auth, () => sendOne(formatTokenRequest({ headers: [CHUNKED], body })), {
      status: 413,
      code: 'content-too-large',
      headers: { connection: 'close' },
    })
  })

  test('is refused before it is read if its Content-Length is too large', async () => {
    await expectRefusal(auth, () => sendOne(formatTokenRequest({ headers: ['Content-Length: 999999999'] })), {
      status: 413,
      code: 'content-too-large',
      headers: { connection: 'close' },
    })
  })

  test('is refused with one response if its length is ambiguous, and the connection is closed', async () => {
    const storedBefore = await countStored(auth)
    for (const headers of [
      [formatContentLength(BODY), CHUNKED],
      [formatContentLength(BODY), formatContentLength(BODY), 'Content-Length: 5'],
      ['Content-Length: +5'],
      ['Content-Length: 0x5'],
      ['Content-Length: 5, 5'],
      ['Content-Length: -1'],
      ['Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding : chunked'],
      ['Transfer-Encoding: xchunked'],
    ]) {
      const responses = await sendRaw(auth.url, formatTokenRequest({ headers }))
      expect(responses).toHaveLength(1)
      expect(responses[0]?.status, headers.join()).toBeGreaterThanOrEqual(400)
      expect(responses[0]?.status).toBeLessThan(502)
      expect(responses[0]?.status).not.toBe(500)
      expect(responses[0]?.headers.get('connection')).toBe('close')
      expect(JSON.parse(responses[0]!.text)).toHaveProperty('status', responses[0]?.status)
    }
    expect(await countStored(auth)).toEqual(storedBefore)
  })

  test('is ignored on GET, and the next request on the connection gets its own response', async () => {
    const lines = [
      'GET /oauth/jwks.json HTTP/1.1',
      'Host: plainpath.example',
      formatContentLength(BODY),
      '',
      BODY,
    ]
    const responses = await sendRaw(auth.url, lines.join('\r\n') + formatTokenRequest())
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(responses[1]?.text).toContain('access_token')
  })
})

describe('requests on one connection', () => {
  test('each get their own response, in order', async () => {
    const formatGet = (path: string) => `GET ${path} HTTP/1.1\r\nHost: plainpath.example\r\n\r\n`
    const paths = Array.from({ length: 10 }, (_, n) => (n % 2 ? '/oauth/jwks.json' : '/nowhere'))
    const responses = await sendRaw(auth.url, `${paths.map(formatGet).join('')}${formatTokenRequest()}`)
    expect(responses.map(({ status }) => status)).toEqual([...paths.map((_, n) => (n % 2 ? 200 : 404)), 200])
  })

  test('get no response if they follow a request whose body is too large', async () => {
    // The client does not ask to close the connection, so the server itself must refuse to read the second request.
    const largeRequest = formatTokenRequest({ body: 'x'.repeat(70_000) }).replace('Connection: close\r\n', '')
    const responses = await sendRaw(auth.url, largeRequest + formatTokenRequest())
    expect(responses.map(({ status }) => status)).toEqual([413])
  })
})

describe('a malformed request gets a 4xx response in a safe format:', () => {
  test.for([
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a line that ends in LF', 'GET /oauth/jwks.json HTTP/1.1\nHost: plainpath.example\n\n'],
    ['a folded header', formatRawRequest('GET /oauth/jwks.json', ['X: a\r\n b'])],
    ['NUL in a header', formatRawRequest('GET /oauth/jwks.json', ['X: a\0b'])],
    ['a space before the colon', formatRawRequest('GET /oauth/jwks.json', ['X : a'])],
    ['20 KiB of headers', formatRawRequest('GET /oauth/jwks.json', [`X: ${'x'.repeat(20_000)}`])],
    ['20 KiB of path', formatRawRequest(`GET /${'x'.repeat(20_000)}`, [])],
    ['no Host header', 'GET /oauth/jwks.json HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a query without a path', formatRawRequest('GET ?x=1', [])],
    ['bytes of another protocol', `\x16\x03\x01${CANARY}\r\n\r\n`],
    [
      'an unknown expectation',
      formatRawRequest('POST /oauth/token', ['Expect: a miracle', 'Content-Length: 0']),
    ],
  ])('%s', async ([_title, bytes]) => {
    const [response] = await sendRaw(auth.url, bytes ?? '')
    expect([400, 417, 431]).toContain(response?.status)
    expect(response?.headers.get('content-type')).toMatch(/^application\/(problem\+)?json/)
    expect(response?.headers.get('cache-control')).toBe('no-store')
    expect(response?.text).not.toContain(CANARY)
    expect((await requestToken(auth, agent)).status).toBe(200)
  })

  test.for([
    ['// in the path', 'GET //'],
    ['a dot segment', 'POST /./oauth/token'],
    ['an invalid escape', 'GET /oauth/%zz'],
    ['OPTIONS *', 'OPTIONS *'],
    ['a target that is only a scheme', 'GET http://'],
    ['an unknown method on a known path', 'PROPFIND /oauth/token'],
    ['TRACE', `TRACE /oauth/token?x=${CANARY}`],
  ])('%s', async ([_title, line]) => {
    const [response] = await sendRaw(auth.url, formatRawRequest(line ?? '', ['Content-Length: 0']))
    expect([400, 404, 405, 421]).toContain(response?.status)
    expect(response?.text).not.toContain(CANARY)
    await expectSafe(auth, response!)
  })
})

test('a header may have the name of a member of every JavaScript object', async () => {
  const headers = ['__proto__: x', 'constructor: x', 'toString: x', formatContentLength(BODY)]
  expect((await sendOne(formatTokenRequest({ headers }))).status).toBe(200)
})

describe('X-Request-Id', () => {
  test.for([
    ['abcdefgh', true],
    ['A.b_c-1234', true],
    ['short', false],
    ['x'.repeat(65), false],
    ['with blank', false],
    [`${CANARY}"<script>`, false],
  ] satisfies [string, boolean][])('%s is returned unchanged: %s', async ([id, isReturned]) => {
    const { headers } = await send(auth.url, { path: '/oauth/jwks.json', headers: { 'x-request-id': id } })
    expect(headers.get('x-request-id') === id).toBe(isReturned)
    expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,64}$/)
  })
})
