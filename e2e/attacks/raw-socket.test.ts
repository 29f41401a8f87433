import { expectSafeResponse } from '@plainpath/http/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Conversation, converse, formatRequest } from '../converse.ts'
import { FRAMINGS, formatFramedRequest } from '../framings.ts'
import { type System, startSystem } from '../in-process/start-system.ts'
import { openStoredCounts, type StoredCounts } from '../stored-counts.ts'

/*
 * Sends bytes that no HTTP library sends. Many tests are about request smuggling: if two servers disagree on where a request
 * ends, an attacker can hide a second request in the body of the first.
 */

const resources = new AsyncDisposableStack()
let system: System
let stored: StoredCounts
let host: string
beforeAll(async () => {
  system = resources.use(await startSystem())
  stored = resources.use(await openStoredCounts(system))
  host = new URL(system.origin).host
})
afterAll(() => resources.disposeAsync())

let emailCount = 0
const JSON_TYPE = 'Content-Type: application/json'
const formatJoinRequest = (...headers: string[]) => {
  const body = JSON.stringify({ email: `raw${++emailCount}@example.org` })
  const allHeaders = [JSON_TYPE, `Content-Length: ${body.length}`, ...headers]
  return formatRequest('POST /api/waitlist', host, allHeaders, body)
}
const formatRegistrationRequest = () => formatRequest('POST /api/agent/register', host, ['Content-Length: 0'])
/** Checks that each response is safe. Returns the statuses. */
const checkSafetyAndGetStatuses = (responses: Conversation['responses']) => {
  for (const response of responses) expectSafeResponse(response, { origin: system.origin })
  return responses.map(({ status }) => status)
}

/** Operations of both apps, each with a request to hide in it. The hidden request would store something if it were processed. */
const OPERATIONS = [
  ['auth', 'POST /oauth/token', formatRegistrationRequest],
  ['auth', 'POST /api/agent/register', formatRegistrationRequest],
  ['resource', 'POST /api/waitlist', formatJoinRequest],
  ['resource', 'GET /api/guides', formatJoinRequest],
] as const

describe.for(OPERATIONS)('%s, %s:', ([_app, requestLine, formatHiddenRequest]) => {
  test('the request to hide succeeds when it is sent alone', async () => {
    const storedBefore = await stored.count()
    const { responses } = await converse(system.origin, formatHiddenRequest(), { responses: 1 })
    expect(checkSafetyAndGetStatuses(responses)).toEqual([201])
    expect(await stored.count()).not.toEqual(storedBefore)
  })

  test.for(FRAMINGS)(
    '$name: gets one response, the connection is closed, and the hidden request is not processed',
    async (framing) => {
      const storedBefore = await stored.count()
      const bytes = formatFramedRequest(framing, host, requestLine, formatHiddenRequest())
      const { responses, closed } = await converse(system.origin, bytes)
      const statuses = checkSafetyAndGetStatuses(responses)
      expect(statuses).toHaveLength(1)
      // A GET gets a response before its body is read.
      expect(requestLine.startsWith('GET') ? [200, 400] : [400, 401, 413, 415]).toContain(statuses[0])
      expect(closed).toBe(true)
      expect(await stored.count()).toEqual(storedBefore)
    },
  )
})

describe('request boundaries:', () => {
  const formatGet = (path: string) => formatRequest(`GET ${path}`, host)

  test('both apps respond in order to fifty pipelined requests on one connection', async () => {
    const paths = ['/api/health', '/oauth/jwks.json', '/nowhere', '/api/agent', '/api/guides/avoid-scams']
    const requestedPaths = Array.from({ length: 50 }, (_, n) => paths[n % paths.length] ?? '')
    const { responses } = await converse(system.origin, requestedPaths.map(formatGet).join(''), {
      responses: 50,
    })
    expect(checkSafetyAndGetStatuses(responses)).toEqual(
      requestedPaths.map((path) => ({ '/nowhere': 404, '/api/agent': 401 })[path] ?? 200),
    )
    responses.forEach(({ text }, n) => {
      const expected = { '/oauth/jwks.json': '"keys"', '/api/guides/avoid-scams': '"avoid-scams"' }[
        requestedPaths[n] ?? ''
      ]
      expect(text).toContain(expected ?? '')
    })
  })

  test.for(['POST /oauth/token', 'POST /api/waitlist', 'POST /api/agent/register'])(
    'requests after a body that is too large are not processed: %s',
    async (requestLine) => {
      const type = requestLine.includes('token')
        ? 'Content-Type: application/x-www-form-urlencoded'
        : JSON_TYPE
      const large = formatRequest(requestLine, host, [type, 'Content-Length: 70000'], 'x'.repeat(70_000))
      const storedBefore = await stored.count()
      const bytes = large + formatJoinRequest() + formatRegistrationRequest()
      // Reads until the server closes the connection, so that responses to the later requests would be received too.
      const { responses } = await converse(system.origin, bytes, { forMs: 1_500 })
      expect(checkSafetyAndGetStatuses(responses)).toEqual([413])
      expect(await stored.count()).toEqual(storedBefore)
    },
  )

  test.for(['GET /api/guides', 'GET /oauth/jwks.json', 'DELETE /api/agent', 'GET /api/agent'])(
    'an unexpected body is not parsed as the next request: %s',
    async (requestLine) => {
      const body = formatRegistrationRequest()
      const storedBefore = await stored.count()
      const sent =
        formatRequest(requestLine, host, [`Content-Length: ${body.length}`], body) + formatGet('/api/health')
      const { responses } = await converse(system.origin, sent, { responses: 2 })
      const statuses = checkSafetyAndGetStatuses(responses)
      expect(statuses[0]).toBe(requestLine.includes('agent') ? 401 : 200)
      expect(statuses[1]).toBe(200)
      expect(await stored.count()).toEqual(storedBefore)
    },
  )

  test('a trailer is not a header', async () => {
    const body = '{"email":"trailer@example.org"}'
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\nAuthorization: Bearer x\r\nHost: evil.example\r\n\r\n`
    const sent = formatRequest(
      'POST /api/waitlist',
      host,
      [JSON_TYPE, 'Transfer-Encoding: chunked', 'Trailer: Authorization'],
      chunks,
    )
    const { responses } = await converse(system.origin, sent, { responses: 1 })
    expect(checkSafetyAndGetStatuses(responses)).toEqual([201])
  })

  test.for(['POST /oauth/token', 'POST /api/waitlist'])(
    'a chunk extension of more than 16 KiB is refused: %s',
    async (requestLine) => {
      const sent = formatRequest(
        requestLine,
        host,
        [JSON_TYPE, 'Transfer-Encoding: chunked'],
        `4;${'x'.repeat(17_000)}\r\n{}  \r\n0\r\n\r\n`,
      )
      const { responses, closed } = await converse(system.origin, sent)
      expect([400, 401, 413]).toContain(checkSafetyAndGetStatuses(responses)[0])
      expect([responses.length, closed]).toEqual([1, true])
    },
  )
})

describe('Expect:', () => {
  test('100-continue gets an interim response, and then the request gets its response', async () => {
    const { responses, interim } = await converse(system.origin, formatJoinRequest('Expect: 100-continue'), {
      responses: 1,
    })
    expect([interim, checkSafetyAndGetStatuses(responses)]).toEqual([[100], [201]])
  })

  test('100-continue without a body gets 400', async () => {
    const sent = formatRequest('POST /api/waitlist', host, ['Expect: 100-continue', 'Content-Length: 0'])
    const { responses } = await converse(system.origin, sent, { responses: 1 })
    expect(checkSafetyAndGetStatuses(responses)).toEqual([400])
  })

  test('any other expectation gets 417', async () => {
    const storedBefore = await stored.count()
    const { responses, closed } = await converse(system.origin, formatJoinRequest('Expect: a miracle'))
    expect([checkSafetyAndGetStatuses(responses), closed]).toEqual([[417], true])
    expect(await stored.count()).toEqual(storedBefore)
  })
})

describe('other protocols and versions:', () => {
  test.for([
    ['HTTP/2 with prior knowledge', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]],
    ['HTTP/3 as text', () => `GET /api/health HTTP/3.0\r\nHost: ${host}\r\n\r\n`, [400, 505]],
    ['CONNECT', () => formatRequest('CONNECT evil.example:443', host), [400, 404, 405, 421]],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', [400]],
    ['SMTP', () => 'HELO evil.example\r\nMAIL FROM:<a@b.example>\r\n\r\n', [400]],
  ] satisfies [string, () => string, number[]][])(
    '%s gets at most one response, an error',
    async ([_what, formatBytes, expected]) => {
      // The server may respond with nothing and wait for more bytes. The limit ends the test then.
      const { responses } = await converse(system.origin, formatBytes(), { forMs: 2_000 })
      for (const status of checkSafetyAndGetStatuses(responses)) expect(expected).toContain(status)
      expect(responses.length).toBeLessThanOrEqual(1)
    },
  )

  test.for([
    ['h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
    [
      'WebSocket',
      [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        'Sec-WebSocket-Version: 13',
      ],
    ],
  ] satisfies [string, string[]][])(
    'an upgrade to %s is ignored, and the request gets its response',
    async ([_to, headers]) => {
      const { responses, interim } = await converse(
        system.origin,
        formatRequest('GET /api/health', host, headers),
        {
          responses: 1,
        },
      )
      expect([interim, checkSafetyAndGetStatuses(responses)]).toEqual([[], [200]])
    },
  )

  test('HTTP/1.0 gets a response, and its connection is closed', async () => {
    const { responses, closed } = await converse(
      system.origin,
      `GET /api/health HTTP/1.0\r\nHost: ${host}\r\n\r\n`,
    )
    expect([checkSafetyAndGetStatuses(responses), closed]).toEqual([[200], true])
  })

  test('OPTIONS * gets a safe response', async () => {
    const { responses } = await converse(system.origin, formatRequest('OPTIONS *', host), { responses: 1 })
    expect([204, 400, 404, 405]).toContain(checkSafetyAndGetStatuses(responses)[0])
  })
})

describe('a path is matched as it was sent:', () => {
  const PATH_VARIANTS = [
    '//oauth/token',
    '/./oauth/token',
    '/x/../oauth/token',
    '/%6fauth/token',
    '/oauth%2ftoken',
    '/oauth/token%2f',
    '/oauth/token/',
    '/oauth/token;x=1',
    '/oauth/token%00',
    '/oauth/token%zz',
    '/OAUTH/token',
    '/oauth/Token',
    '/oauth\\token',
    '//api/agent/register',
    '/api//agent/register',
    '/api/agent/register/',
    '/api/agent/./register',
    '/api/agent/%72egister',
    '/API/agent/register',
    '/api/waitlist/',
    '/api/./waitlist',
    '/api/%77aitlist',
    '/api/Waitlist',
    '/api/waitlist%20',
    '/api/waitlist;x=1',
    '/api/waitlist/x.css',
  ]
  test.for(PATH_VARIANTS)('%s gets 400 or 404, and stores nothing', async (path) => {
    const storedBefore = await stored.count()
    const { responses } = await converse(system.origin, formatJoinRequest().replace('/api/waitlist', path), {
      responses: 1,
    })
    expect([400, 404]).toContain(checkSafetyAndGetStatuses(responses)[0])
    expect(await stored.count()).toEqual(storedBefore)
  })
})
