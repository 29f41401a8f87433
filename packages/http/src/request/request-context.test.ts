import type { Middleware } from 'koa'
import { describe, expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import { startService } from '../../test/start-service.ts'

/** Sends a request with this id, or without one. Returns the id in the response. */
const fetchRequestId = async (sentId?: string) => {
  await using service = await startService()
  const headers = sentId === undefined ? {} : { 'x-request-id': sentId }
  return (await fetch(service.url, { headers })).headers.get('x-request-id')
}

test.for(['12345678', 'a'.repeat(64), 'Trace_1.2-3'])('uses the valid request id %s', async (id) => {
  expect(await fetchRequestId(id)).toBe(id)
})

test.for([
  undefined,
  '',
  '1234567',
  'a'.repeat(65),
  'with blank',
  'línea-12345',
  'a@example.org',
  '<script>',
  'a,b,c,d,e',
])('replaces the invalid request id %s', async (id) => {
  expect(await fetchRequestId(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
})

test('replaces two request ids in one request', async () => {
  await using service = await startService()
  const { responses } = await converse(
    service.port,
    formatHead('GET / HTTP/1.1', 'Host: h', 'X-Request-Id: 12345678', 'X-Request-Id: 87654321'),
    { responses: 1 },
  )
  expect(responses[0]?.headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
})

test('logs one line for a request, without its path, query, address, headers or body', async () => {
  await using service = await startService({ trustedProxies: '127.0.0.1' })
  await fetch(`${service.url}/canary-path/x?canary-query=1#canary`, {
    method: 'POST',
    headers: {
      'x-forwarded-for': '203.0.113.77',
      authorization: 'Bearer canary-token',
      'user-agent': 'canary-agent',
      referer: 'https://canary.example',
    },
    body: 'canary-body',
  })
  const [line = '', ...otherLines] = service.logLines
  expect(otherLines).toEqual([])
  expect(line).not.toMatch(/canary|203\.0\.113|127\.0\.0\.1/)
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'test',
    request_id: expect.any(String),
    method: 'POST',
    route: 'unmatched',
    status: 404,
    ms: expect.any(Number),
    msg: 'request',
  })
  expect(service.recordedResponses).toEqual([
    { method: 'POST', route: 'unmatched', status: 404, seconds: expect.any(Number) },
  ])
})

test('counts unknown methods as "other"', async () => {
  await using service = await startService()
  for (const method of ['PROPFIND', 'MKCOL', 'PATCH']) {
    await converse(service.port, formatHead(`${method} / HTTP/1.1`, 'Host: h'), { responses: 1 })
  }
  expect(service.recordedResponses.map(({ method }) => method)).toEqual(['other', 'other', 'PATCH'])
})

describe('every response', () => {
  test('has nosniff and no-store, and names no software', async () => {
    await using service = await startService()
    const { headers } = await fetch(service.url)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    for (const name of ['server', 'x-powered-by']) expect(headers.get(name)).toBeNull()
  })

  test('has HSTS when the origin is https, and only then', async () => {
    for (const [origin, expected] of [
      ['https://plainpath.example', 'max-age=63072000; includeSubDomains'],
      ['http://localhost:8080', null],
    ] as const) {
      await using service = await startService({ origin })
      expect((await fetch(service.url)).headers.get('strict-transport-security')).toBe(expected)
    }
  })
})

test('accepts headers that are named like members of Object', async () => {
  await using service = await startService()
  const { responses } = await converse(
    service.port,
    formatHead(
      'GET / HTTP/1.1',
      'Host: h',
      '__proto__: x',
      'constructor: x',
      'hasOwnProperty: y',
      'toString: z',
    ),
    { responses: 1 },
  )
  expect(responses[0]?.status).toBe(404)
})

describe('the request log', () => {
  /** Sends requests one after the other. Returns the numbers of log lines and of calls of `onResponse`. */
  const sendAndCount = async (
    count: number,
    send: (url: string) => Promise<unknown>,
    use: Middleware[] = [],
  ) => {
    await using service = await startService({ use })
    for (let index = 0; index < count; index += 1) await send(service.url)
    return { lines: service.logLines.length, responses: service.recordedResponses.length }
  }
  const respondFine: Middleware = async (ctx) => {
    ctx.body = 'fine'
  }

  test('has one in a hundred reads, beginning with the first, while every read is counted', async () => {
    expect(await sendAndCount(101, (url) => fetch(url), [respondFine])).toEqual({ lines: 2, responses: 101 })
  })

  test('has every read that failed', async () => {
    expect(await sendAndCount(10, (url) => fetch(url))).toEqual({ lines: 10, responses: 10 })
  })

  test('has every slow read', async () => {
    const respondSlowly: Middleware = async (ctx) => {
      // Reads that take more than 500 ms are slow.
      for (const until = performance.now() + 510; performance.now() < until; );
      ctx.body = 'slow'
    }
    expect(await sendAndCount(3, (url) => fetch(url, { method: 'HEAD' }), [respondSlowly])).toEqual({
      lines: 3,
      responses: 3,
    })
  })

  test('has every write', async () => {
    const post = (url: string) => fetch(url, { method: 'POST' })
    expect(await sendAndCount(10, post, [respondFine])).toEqual({ lines: 10, responses: 10 })
  })
})
