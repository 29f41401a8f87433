import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { measureCpuMs } from '../../test/cpu-time.ts'
import { converse, formatHead } from '../../test/raw-http.ts'
import { type Service, startService } from '../../test/start-service.ts'
import { defineRoute } from '../routing/route.ts'
import { readForm } from './read-body.ts'

const limits = {}
const echoRoute = defineRoute({
  method: 'post',
  path: '/echo',
  operationId: 'echo',
  summary: 'Returns the body of the request',
  access: 'open',
  limits,
  request: { body: z.looseObject({}) },
  responses: { 200: z.looseObject({}) },
  handle: ({ body }) => ({ status: 200, body }),
})
const optionalRoute = defineRoute({
  method: 'post',
  path: '/optional',
  operationId: 'optional',
  summary: '',
  access: 'open',
  limits,
  request: { body: z.object({ name: z.string().optional() }) },
  bodyOptional: true,
  responses: { 200: z.looseObject({}) },
  handle: ({ body }) => ({ status: 200, body: { given: body } }),
})

/** Starts a service that returns the body that it read: JSON at `/echo` and `/optional`, the fields of a form at `/form`. */
const startEchoService = () =>
  startService({
    routes: [echoRoute, optionalRoute],
    use: [
      async (ctx, next) => {
        if (ctx.path !== '/form') return next()
        ctx.body = [...(await readForm(ctx, 'Like this: grant_type=client_credentials')).entries()]
      },
    ],
  })

const JSON_TYPE = 'application/json'
const post = (
  service: Service,
  path: string,
  type: string | undefined,
  body: string | Uint8Array<ArrayBuffer>,
) =>
  fetch(`${service.url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
    ...(type !== undefined && { headers: { 'content-type': type } }),
  })

/** Creates a JSON object of exactly this many bytes. Eight of them are around the string. */
const createObjectText = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`

describe('accepts the media type', () => {
  test.for([
    JSON_TYPE,
    'Application/JSON',
    'application/json; charset=UTF-8; x=1',
    'application/json;charset="utf-8"',
    'application/json; charset=utf8',
    'application/json;;',
  ])('%s', async (type) => {
    await using service = await startEchoService()
    const response = await post(service, '/echo', type, '{"a":"é"}')
    expect(await response.json()).toEqual({ a: 'é' })
    expect(response.status).toBe(200)
  })
})

describe('refuses with 415 the media type', () => {
  test.for([
    { type: undefined },
    { type: 'text/plain' },
    { type: 'text/json' },
    { type: 'application/json5' },
    { type: 'application/problem+json' },
    { type: 'application/x-www-form-urlencoded' },
    { type: 'multipart/form-data; boundary=x' },
    { type: 'application/json, text/plain' },
    { type: 'application/json; charset=utf-16' },
    { type: 'application/json; charset=latin1' },
    { type: 'application/json; charset=utf-7' },
    { type: 'application/json; charset=nonsense' },
    { type: 'json' },
  ])('$type', async ({ type }) => {
    await using service = await startEchoService()
    for (const path of ['/echo', '/optional']) {
      const response = await post(service, path, type, '{"name":"x"}')
      expect(await response.json()).toMatchObject({ status: 415, code: 'unsupported-media-type' })
      expect(response.status).toBe(415)
    }
  })

  test('two Content-Type headers', async () => {
    await using service = await startEchoService()
    const { responses } = await converse(
      service.port,
      `${formatHead('POST /echo HTTP/1.1', 'Host: h', 'Content-Type: application/json', 'Content-Type: text/plain', 'Content-Length: 2')}{}`,
      { responses: 1 },
    )
    expect(responses[0]?.status).toBe(415)
  })
})

test.for(['gzip', 'br', 'deflate', 'gzip, gzip', 'identity'])(
  'refuses a body with Content-Encoding: %s',
  async (encoding) => {
    await using service = await startEchoService()
    const response = await fetch(`${service.url}/echo`, {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE, 'content-encoding': encoding },
      body: gzipSync(Buffer.alloc(10_000_000)),
    })
    expect(response.status).toBe(415)
  },
)

describe('a body', () => {
  test('of 64 KiB is read, and one byte more is 413', async () => {
    await using service = await startEchoService()
    expect((await post(service, '/echo', JSON_TYPE, createObjectText(65_536))).status).toBe(200)
    const refusal = await post(service, '/echo', JSON_TYPE, createObjectText(65_537))
    expect(await refusal.json()).toMatchObject({ status: 413, code: 'content-too-large' })
    expect(refusal.headers.get('connection')).toBe('close')
  })

  test('that is far too large is 413, even for a client that sends all of it before it reads', async () => {
    await using service = await startEchoService()
    const body = createObjectText(5_000_000)
    const socket = connect(service.port, '127.0.0.1')
    const { promise: writeResult, resolve } = Promise.withResolvers<unknown>()
    socket.on('error', resolve).pause()
    socket.write(
      formatHead(
        'POST /echo HTTP/1.1',
        'Host: h',
        `Content-Type: ${JSON_TYPE}`,
        `Content-Length: ${body.length}`,
      ) + body,
      (error) => resolve(error ?? 'all'),
    )
    expect(await writeResult).toBe('all')
    const response = await socket.setEncoding('utf8').toArray()
    expect(response.join('')).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('in chunks is 413 as soon as it is too large', async () => {
    await using service = await startEchoService()
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    const requestHead = formatHead(
      'POST /echo HTTP/1.1',
      'Host: h',
      `Content-Type: ${JSON_TYPE}`,
      'Transfer-Encoding: chunked',
    )
    // 65,000 + 536 bytes are 64 KiB.
    const completeRequest = `${requestHead}${chunk(createObjectText(65_000))}${chunk(' '.repeat(536))}0\r\n\r\n`
    expect((await converse(service.port, completeRequest, { responses: 1 })).responses[0]?.status).toBe(200)
    // The last chunk never comes, because the body must be refused before its end.
    const refusal = await converse(
      service.port,
      `${requestHead}${chunk(createObjectText(65_000))}${chunk(' '.repeat(537))}`,
    )
    expect(refusal.responses.map(({ status }) => status)).toEqual([413])
    expect(refusal.closed).toBe(true)
  })

  // One byte too many, lengths that would overflow 32 bits, and a very large one.
  test.for(['65537', '4294967296', '4294967297', '99999999999999'])(
    'that announces %s bytes and sends none is 413 within 2 s',
    async (length) => {
      await using service = await startEchoService()
      const startedAt = performance.now()
      const { responses, closed } = await converse(
        service.port,
        formatHead(
          'POST /optional HTTP/1.1',
          'Host: h',
          `Content-Type: ${JSON_TYPE}`,
          `Content-Length: ${length}`,
        ),
      )
      expect(responses.map(({ status }) => status)).toEqual([413])
      expect(closed).toBe(true)
      expect(performance.now() - startedAt).toBeLessThan(2_000)
    },
  )

  test.for(['with Content-Length', 'in chunks'])(
    'that is too large and sent %s is 413, and closes the connection before the next request',
    async (framing) => {
      await using service = await startEchoService()
      // The body ends with a request, which must not be handled.
      const body = createObjectText(200_000) + formatHead('GET /hidden HTTP/1.1', 'Host: h')
      const [framingHeader, framedBody] =
        framing === 'in chunks'
          ? ['Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
          : [`Content-Length: ${body.length}`, body]
      const firstRequest =
        formatHead('POST /echo HTTP/1.1', 'Host: h', `Content-Type: ${JSON_TYPE}`, framingHeader) + framedBody
      const { responses, closed } = await converse(
        service.port,
        firstRequest + formatHead('PUT /echo HTTP/1.1', 'Host: h'),
      )
      expect(responses.map(({ status }) => status)).toEqual([413])
      expect(closed).toBe(true)
    },
  )

  test('that becomes malformed only after it is too large is 413', async () => {
    await using service = await startEchoService()
    const chunked = formatHead(
      'POST /echo HTTP/1.1',
      'Host: h',
      `Content-Type: ${JSON_TYPE}`,
      'Transfer-Encoding: chunked',
    )
    // 0x10001 is 64 KiB and a byte. The chunk is not followed by a line end.
    const malformed = `10001\r\n${'x'.repeat(0x10001)}nonsense`
    const { responses, closed } = await converse(service.port, chunked + malformed)
    expect(responses.map(({ status }) => status)).toEqual([413])
    expect(closed).toBe(true)
  })

  // In the next two tests, the body looks like the beginning of a request.
  test('of the wrong type is skipped, and the next request gets its own response', async () => {
    await using service = await startEchoService()
    const { responses } = await converse(
      service.port,
      `${formatHead('POST /echo HTTP/1.1', 'Host: h', 'Content-Type: text/plain', 'Content-Length: 9')}GET / HT\n` +
        `${formatHead('POST /echo HTTP/1.1', 'Host: h', `Content-Type: ${JSON_TYPE}`, 'Content-Length: 7')}{"b":2}`,
      { responses: 2 },
    )
    expect(responses.map(({ status, body }) => [status, JSON.parse(body).b])).toEqual([
      [415, undefined],
      [200, 2],
    ])
  })

  test('of a GET is skipped, and the next request gets its own response', async () => {
    await using service = await startEchoService()
    const { responses } = await converse(
      service.port,
      `${formatHead('GET /echo HTTP/1.1', 'Host: h', 'Content-Length: 9')}GET / HT\n${formatHead('DELETE /echo HTTP/1.1', 'Host: h')}`,
      { responses: 2 },
    )
    expect(responses.map(({ status }) => status)).toEqual([405, 405])
  })

  test('that is shorter than announced takes its last bytes from the next request, and both are 400', async () => {
    await using service = await startEchoService()
    const { responses } = await converse(
      service.port,
      `${formatHead('POST /echo HTTP/1.1', 'Host: h', `Content-Type: ${JSON_TYPE}`, 'Content-Length: 4')}{}${formatHead('GET / HTTP/1.1', 'Host: h')}`,
    )
    // The first four bytes are the body, `{}GE`; the rest is not a request.
    expect(responses.map(({ status }) => status)).toEqual([400, 400])
  })
})

describe('a body is refused (400) if its bytes are', () => {
  /** Creates a JSON object with these bytes in a string. */
  const createObjectWith = (bytes: number[]) =>
    Buffer.from([...Buffer.from('{"a":"'), ...bytes, ...Buffer.from('"}')])
  test.for([
    { kind: 'not UTF-8', bytes: createObjectWith([0xff]) },
    { kind: 'an overlong encoding', bytes: createObjectWith([0xc0, 0xaf]) },
    { kind: 'surrogates in UTF-8', bytes: createObjectWith([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]) },
    { kind: 'cut off within a character', bytes: createObjectWith([0xc3]) },
    { kind: 'UTF-16', bytes: Buffer.from('{"a":1}', 'utf16le') },
    { kind: 'UTF-16 with a byte order mark', bytes: Buffer.from('\uFEFF{"a":1}', 'utf16le') },
    { kind: 'UTF-8 with a byte order mark', bytes: Buffer.from('\uFEFF{"a":1}') },
  ])('$kind', async ({ bytes }) => {
    await using service = await startEchoService()
    const response = await post(service, '/echo', JSON_TYPE, new Uint8Array(bytes))
    expect(await response.json()).toMatchObject({ status: 400, code: 'invalid-request' })
  })
})

describe('no body', () => {
  test('is parsed as an empty object if the body is optional', async () => {
    await using service = await startEchoService()
    const response = await fetch(`${service.url}/optional`, { method: 'POST' })
    expect(await response.json()).toEqual({ given: {} })
    const headWithoutType = formatHead('POST /optional HTTP/1.1', 'Host: h', 'Transfer-Encoding: chunked')
    const { responses } = await converse(service.port, `${headWithoutType}0\r\n\r\n`, { responses: 1 })
    expect(responses[0]?.status).toBe(415)
    const headWithType = formatHead(
      'POST /optional HTTP/1.1',
      'Host: h',
      `Content-Type: ${JSON_TYPE}`,
      'Transfer-Encoding: chunked',
    )
    const accepted = await converse(service.port, `${headWithType}0\r\n\r\n`, { responses: 1 })
    expect(JSON.parse(accepted.responses[0]?.body ?? '')).toEqual({ given: {} })
  })

  test('is 400 if a body is required, with a detail that says what to send', async () => {
    await using service = await startEchoService()
    const response = await fetch(`${service.url}/echo`, {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE },
    })
    expect(await response.json()).toMatchObject({
      status: 400,
      detail: 'Send a JSON object as the body, with Content-Type: application/json.',
    })
  })
})

describe('a form', () => {
  const formType = 'application/x-www-form-urlencoded'
  test('retains every field in order, with duplicates', async () => {
    await using service = await startEchoService()
    const response = await post(service, '/form', formType, 'a=1&b=%C3%A9+x&a=2&c')
    expect(await response.json()).toEqual([
      ['a', '1'],
      ['b', 'é x'],
      ['a', '2'],
      ['c', ''],
    ])
  })

  test('is refused beyond 32 fields, within 0.5 s of CPU time', async () => {
    await using service = await startEchoService()
    expect((await post(service, '/form', formType, 'a=1&'.repeat(32))).status).toBe(200)
    expect((await post(service, '/form', formType, 'a=1&'.repeat(33))).status).toBe(400)
    const ms = await measureCpuMs(async () => {
      expect((await post(service, '/form', formType, 'a&'.repeat(32_000))).status).toBe(400)
    })
    expect(ms).toBeLessThan(500)
  })

  test('sent as JSON is refused with the header to send instead', async () => {
    await using service = await startEchoService()
    const response = await post(service, '/form', JSON_TYPE, '{"grant_type":"client_credentials"}')
    expect(await response.json()).toMatchObject({
      status: 415,
      detail: `Send Content-Type: ${formType} in UTF-8. Like this: grant_type=client_credentials`,
    })
  })
})
