import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { serve } from './server.ts'

const ORIGIN = 'https://plainpath.example'
const echoBody: RequestHandler = (request, response) => {
  const body: Buffer[] = []
  request.on('data', (chunk: Buffer) => body.push(chunk))
  request.on('end', () => response.end(`${request.url} ${Buffer.concat(body)}`))
}
const startServer = (handler = echoBody, origin = ORIGIN) =>
  serve(handler, { port: 0, host: '127.0.0.1', drainSeconds: 0, origin })

const POST_LINES = ['POST / HTTP/1.1', 'Host: h']

describe('refuses with 400 and closes the connection for', () => {
  test.for([
    { defect: 'no request line', bytes: 'nonsense\r\n\r\n' },
    { defect: 'a bad version', bytes: 'GET / HTTP/9.9\r\nHost: h\r\n\r\n' },
    { defect: 'a target with a space', bytes: 'GET /a b HTTP/1.1\r\nHost: h\r\n\r\n' },
    { defect: 'a target that is not a path', bytes: 'GET a HTTP/1.1\r\nHost: h\r\n\r\n' },
    { defect: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { defect: 'TLS', bytes: Buffer.from('16030100d8010000d40303', 'hex') },
    { defect: 'lines that end in LF alone', bytes: 'GET / HTTP/1.1\nHost: h\n\n' },
    { defect: 'CR without LF', bytes: 'GET / HTTP/1.1\r\nHost: h\r\n\rX' },
    { defect: 'a space before the colon', bytes: formatHead('GET / HTTP/1.1', 'Host : h') },
    {
      defect: 'a header folded over two lines',
      bytes: 'GET / HTTP/1.1\r\nA: b\r\nHost: h\r\nB: c\r\n folded: 1\r\n\r\n',
    },
    { defect: 'NUL in a header', bytes: formatHead('GET / HTTP/1.1', 'Host: h', 'A: \0') },
    { defect: 'a header without a name', bytes: formatHead('GET / HTTP/1.1', 'Host: h', ': a') },
    {
      defect: 'Content-Length, then Transfer-Encoding',
      bytes: `${formatHead(...POST_LINES, 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    },
    {
      defect: 'Transfer-Encoding, then Content-Length',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n`,
    },
    {
      defect: 'two different lengths',
      bytes: `${formatHead(...POST_LINES, 'Content-Length: 1', 'Content-Length: 2')}ab`,
    },
    {
      defect: 'the same length twice',
      bytes: `${formatHead(...POST_LINES, 'Content-Length: 1', 'Content-Length: 1')}a`,
    },
    { defect: 'a list of lengths', bytes: `${formatHead(...POST_LINES, 'Content-Length: 1, 1')}a` },
    { defect: 'a length with a sign', bytes: `${formatHead(...POST_LINES, 'Content-Length: +5')}12345` },
    { defect: 'a negative length', bytes: formatHead(...POST_LINES, 'Content-Length: -5') },
    { defect: 'a length in hex', bytes: `${formatHead(...POST_LINES, 'Content-Length: 0x5')}12345` },
    {
      defect: 'a length of 30 digits',
      bytes: formatHead(...POST_LINES, `Content-Length: ${'9'.repeat(30)}`),
    },
    { defect: 'an unknown transfer coding', bytes: formatHead(...POST_LINES, 'Transfer-Encoding: xchunked') },
    {
      defect: 'chunked after another coding',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    },
    {
      defect: 'another coding after chunked',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked, identity')}0\r\n\r\n`,
    },
    {
      defect: 'a chunk size that is not a number',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}zz\r\n`,
    },
    {
      // More than 64 bits.
      defect: 'a chunk size of 17 hex digits',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}${'f'.repeat(17)}\r\n`,
    },
    {
      defect: 'a chunk longer than its size',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}1\r\nabc\r\n0\r\n\r\n`,
    },
    {
      defect: 'a chunk size ended by LF alone',
      bytes: `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}1\na\n0\n\n`,
    },
  ])('$defect', async ({ bytes }) => {
    await using server = await startServer()
    const { responses, closed } = await converse(server.port, bytes)
    expect(responses.map(({ status }) => status)).toEqual([400])
    expect(closed).toBe(true)
    expect(responses[0]?.headers).toMatchObject({
      connection: 'close',
      'content-type': 'application/problem+json',
    })
  })
})

test('refuses a request head of more than 16 KiB (431), whether it has many headers, a long header or a long target', async () => {
  await using server = await startServer()
  for (const bytes of [
    formatHead('GET / HTTP/1.1', 'Host: h', `A: ${'a'.repeat(20_000)}`),
    formatHead(
      'GET / HTTP/1.1',
      'Host: h',
      ...Array.from({ length: 2_500 }, (_, index) => `A${index}: 12345`),
    ),
    formatHead(`GET /${'a'.repeat(20_000)} HTTP/1.1`, 'Host: h'),
    formatHead('GET / HTTP/1.1', 'Host: h', `A: ${'a'.repeat(2_000_000)}`),
  ]) {
    const { responses, closed } = await converse(server.port, bytes)
    expect(responses.map(({ status }) => status)).toEqual([431])
    expect(JSON.parse(responses[0]?.body ?? '')).toMatchObject({ code: 'headers-too-large' })
    expect(closed).toBe(true)
  }
})

test('refuses more than 16 KiB of chunk extensions (413)', async () => {
  await using server = await startServer()
  const bytes = `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`
  const { responses, closed } = await converse(server.port, bytes)
  expect(responses.map(({ status }) => status)).toEqual([413])
  expect(closed).toBe(true)
})

describe('a refusal', () => {
  test('is a problem document with a request id and OAuth members, has the common headers, and repeats nothing from the request', async () => {
    await using server = await startServer()
    const { responses } = await converse(server.port, 'canary\r\n\r\n')
    const [response] = responses
    const id = response?.headers['x-request-id']
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(response?.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': expect.any(String),
    })
    expect(JSON.parse(response?.body ?? '')).toEqual({
      type: `${ORIGIN}/problems/invalid-request`,
      title: 'The request is not valid',
      status: 400,
      detail: expect.any(String),
      code: 'invalid-request',
      request_id: id,
      error: 'invalid_request',
      error_description: expect.any(String),
    })
    expect(response?.body).not.toContain('canary')
  })

  test('has the type about:blank when the server has no origin', async () => {
    await using server = await serve(echoBody, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
    const { responses } = await converse(server.port, 'nonsense\r\n\r\n')
    expect(JSON.parse(responses[0]?.body ?? '')).toMatchObject({ type: 'about:blank' })
  })
})

test('refuses an unknown expectation (417), and accepts 100-continue', async () => {
  await using server = await startServer()
  const refusal = await converse(
    server.port,
    formatHead(...POST_LINES, 'Expect: nonsense', 'Content-Length: 2'),
  )
  expect(refusal.responses.map(({ status }) => status)).toEqual([417])
  expect(refusal.closed).toBe(true)
  expect(JSON.parse(refusal.responses[0]?.body ?? '')).toMatchObject({
    code: 'expectation-failed',
    status: 417,
  })
  const continued = await converse(server.port, formatHead(...POST_LINES, 'Expect: 100-continue'), {
    responses: 1,
  })
  expect(continued.responses[0]?.status).toBe(200)
})

describe('on one connection,', () => {
  test('fifty pipelined requests get their responses in order', async () => {
    await using server = await startServer()
    const bytes = Array.from({ length: 50 }, (_, index) =>
      formatHead(`GET /${index} HTTP/1.1`, 'Host: h'),
    ).join('')
    const { responses } = await converse(server.port, bytes, { responses: 50 })
    expect(responses.map(({ body }) => body.trim())).toEqual(
      Array.from({ length: 50 }, (_, index) => `/${index}`),
    )
  })

  test('a slow valid request and then an unreadable one get their responses in order', async () => {
    const { promise: delay, resolve } = Promise.withResolvers<void>()
    await using server = await startServer(async (request, response) => {
      await delay
      response.end(request.url)
    })
    const conversation = converse(
      server.port,
      `${formatHead('GET /good HTTP/1.1', 'Host: h')}nonsense\r\n\r\n`,
    )
    setImmediate(resolve)
    const { responses, closed } = await conversation
    expect(responses.map(({ status, body }) => [status, body.slice(0, 5)])).toEqual([
      [200, '/good'],
      [400, '{"typ'],
    ])
    expect(closed).toBe(true)
  })

  test('a slow and a fast valid request and then an unreadable one get their responses in order', async () => {
    const { promise: delay, resolve } = Promise.withResolvers<void>()
    await using server = await startServer(async (request, response) => {
      if (request.url === '/1') await delay
      response.end(request.url)
    })
    const validRequests = formatHead('GET /1 HTTP/1.1', 'Host: h') + formatHead('GET /2 HTTP/1.1', 'Host: h')
    const conversation = converse(server.port, `${validRequests}nonsense\r\n\r\n`)
    setImmediate(resolve)
    const { responses } = await conversation
    expect(responses.map(({ status, body }) => [status, body.slice(0, 2)])).toEqual([
      [200, '/1'],
      [200, '/2'],
      [400, '{"'],
    ])
  })

  test('a request with an unreadable body gets one response, even if its handler also responds', async () => {
    const errors: unknown[] = []
    await using server = await startServer((request, response) => {
      request.resume()
      const respond = () => {
        try {
          response.end('handled')
        } catch (error) {
          errors.push(error)
        }
      }
      request.on('error', respond)
      request.on('close', respond)
    })
    const { responses, closed } = await converse(
      server.port,
      `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked')}2\r\nab\r\nzz\r\n${formatHead('GET /smuggled HTTP/1.1', 'Host: h')}`,
    )
    expect(responses.map(({ status }) => status)).toEqual([400])
    expect(closed).toBe(true)
    expect(errors).toEqual([])
  })

  test('a request gets only its early response if the rest of its body never arrives', async () => {
    await using server = await serve((_request, response) => response.end('early'), {
      port: 0,
      host: '127.0.0.1',
      drainSeconds: 0,
      limits: { requestTimeout: 200, headersTimeout: 200, connectionsCheckingInterval: 30 },
    })
    const { responses, closed } = await converse(
      server.port,
      `${formatHead(...POST_LINES, 'Content-Length: 10')}12345`,
    )
    expect(responses.map(({ status, body }) => [status, body])).toEqual([[200, 'early']])
    expect(closed).toBe(true)
  })
})

test('a trailer field does not count as a header, so it authenticates nobody', async () => {
  await using server = await startServer((request, response) => {
    request.resume().on('end', () => response.end(String(request.headers.authorization)))
  })
  const bytes = `${formatHead(...POST_LINES, 'Transfer-Encoding: chunked', 'Trailer: Authorization')}0\r\nAuthorization: Bearer x\r\n\r\n`
  expect((await converse(server.port, bytes, { responses: 1 })).responses[0]?.body).toBe('undefined')
})

test.for([
  {
    request: 'an upgrade to HTTP/2',
    lines: [
      'GET /a HTTP/1.1',
      'Host: h',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
    ],
  },
  {
    request: 'an upgrade to a WebSocket',
    lines: [
      'GET /a HTTP/1.1',
      'Host: h',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: x',
      'Sec-WebSocket-Version: 13',
    ],
  },
])('treats $request as an ordinary request', async ({ lines }) => {
  await using server = await startServer()
  const { responses } = await converse(server.port, formatHead(...lines), { responses: 1 })
  expect(responses).toMatchObject([{ status: 200, body: '/a ' }])
})

test('responds to HTTP/1.0 and closes the connection', async () => {
  await using server = await startServer()
  const { responses, closed } = await converse(server.port, formatHead('GET /a HTTP/1.0'))
  expect(responses.map(({ status }) => status)).toEqual([200])
  expect(closed).toBe(true)
})

test('opens no tunnel for CONNECT', async () => {
  await using server = await startServer()
  const { responses, closed } = await converse(
    server.port,
    formatHead('CONNECT evil.example:443 HTTP/1.1', 'Host: h'),
  )
  expect(responses).toEqual([])
  expect(closed).toBe(true)
})

// The server would wait for `drainSeconds` if it did not close the connection of such a client.
test('the server closes without waiting for a refused client that keeps its half of the connection open', async () => {
  const server = await serve(echoBody, { port: 0, host: '127.0.0.1', drainSeconds: 60 })
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {}).resume()
  socket.write('nonsense\r\n\r\n')
  await once(socket, 'end')
  const startedAt = performance.now()
  await server[Symbol.asyncDispose]()
  expect(performance.now() - startedAt).toBeLessThan(3_000)
  socket.destroy()
})
