import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { Problem } from '../problems/problem.ts'
import { prepareResponse } from './prepared-response.ts'
import { defineRoute } from './route.ts'

/** A cacheable route. The query parameter `fail` selects a response that must not be cached. */
const guideRoute = defineRoute({
  method: 'get',
  path: '/guide',
  operationId: 'guide',
  summary: '',
  access: 'public',
  limits: {},
  cache: 'public',
  request: { query: z.object({ text: z.string().optional(), fail: z.string().optional() }) },
  responses: { 200: z.object({ title: z.string() }), 202: z.object({}) },
  handle({ query, request: facts }) {
    if (query.fail === 'gone') throw new Problem('guide-retired')
    if (query.fail === 'later') return { status: 202, body: {} }
    if (query.fail === 'sensitive')
      return { status: 200, headers: { 'cache-control': 'no-store' }, body: { title: 'Title' } }
    return facts.accepts('application/json', 'text/markdown') === 'text/markdown'
      ? { status: 200, text: { type: 'text/markdown; charset=utf-8', content: '# Title' } }
      : { status: 200, body: { title: query.text ?? 'Title' } }
  },
})
const HTML = 'text/html; charset=utf-8'
const createPageRoute = (path: `/${string}`, headers: Record<string, string>) =>
  defineRoute({
    method: 'get',
    path,
    operationId: path,
    summary: '',
    access: 'open',
    limits: {},
    cache: 'public',
    responses: { 200: z.string() },
    handle: () => ({ status: 200, headers, prepared: prepareResponse(HTML, '<p>Page') }),
  })
const uncachedRoute = defineRoute({
  method: 'get',
  path: '/uncached',
  operationId: 'uncached',
  summary: '',
  access: 'open',
  limits: {},
  responses: { 200: z.object({}) },
  handle: () => ({ status: 200, body: {} }),
})

const NO_STORE = { 'cache-control': 'no-store' }

interface ReceivedResponse {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends a request without `fetch`, which would add `cache-control: no-cache` to a conditional one. */
async function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<ReceivedResponse> {
  await using service = await startService({
    routes: [guideRoute, uncachedRoute, createPageRoute('/page', {}), createPageRoute('/own', NO_STORE)],
    authenticators: { bearer: async () => ({ clientId: 'agt_1', scopes: new Set() }) },
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ port: service.port, path, method, headers }, resolve).on('error', reject).end()
  })
  const chunks = await response.setEncoding('utf8').toArray()
  return { status: response.statusCode, headers: response.headers, body: chunks.join('') }
}

test('makes a public response cacheable for 300 s, with a strong entity tag of its content', async () => {
  const { status, headers } = await get('/guide')
  expect(status).toBe(200)
  expect(headers['cache-control']).toBe('public, max-age=300')
  expect(headers.vary).toBe('Accept, Accept-Encoding, Authorization')
  expect(headers.etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/)
  expect((await get('/guide')).headers.etag).toBe(headers.etag)
  expect((await get('/guide?text=other')).headers.etag).not.toBe(headers.etag)
})

describe('responds with 304 to If-None-Match', () => {
  test.for([
    { match: 'with its tag', ifNoneMatch: (etag: string) => etag },
    { match: 'with its tag made weak', ifNoneMatch: (etag: string) => `W/${etag}` },
    { match: 'with its tag among others', ifNoneMatch: (etag: string) => `"other", ${etag}` },
    { match: 'with the wildcard', ifNoneMatch: () => '*' },
  ])('$match', async ({ ifNoneMatch }) => {
    const { headers } = await get('/guide')
    for (const method of ['GET', 'HEAD']) {
      const conditionalHeaders = { 'if-none-match': ifNoneMatch(String(headers.etag)) }
      const notModified = await get('/guide', conditionalHeaders, method)
      expect([notModified.status, notModified.body]).toEqual([304, ''])
      for (const name of ['etag', 'vary', 'cache-control'])
        expect(notModified.headers[name]).toBe(headers[name])
      for (const name of ['content-type', 'content-length']) expect(notModified.headers[name]).toBeUndefined()
    }
  })

  test('with another tag, but with 200', async () => {
    expect((await get('/guide', { 'if-none-match': '"other"' })).status).toBe(200)
  })
})

test('responds to HEAD with the headers of GET and no body', async () => {
  const getResponse = await get('/guide')
  const headResponse = await get('/guide', {}, 'HEAD')
  expect([headResponse.status, headResponse.body]).toEqual([200, ''])
  for (const name of ['etag', 'vary', 'cache-control', 'content-type', 'content-length']) {
    expect(headResponse.headers[name]).toBe(getResponse.headers[name])
  }
})

test('ignores Range', async () => {
  expect(await get('/guide', { range: 'bytes=0-1' })).toMatchObject({
    status: 200,
    body: '{"title":"Title"}',
  })
})

test('gives another media type of the content another tag', async () => {
  const markdown = await get('/guide', { accept: 'text/markdown' })
  expect(markdown).toMatchObject({ status: 200, body: '# Title' })
  expect(markdown.headers.etag).not.toBe((await get('/guide')).headers.etag)
})

test('keeps a response to a request with Authorization private', async () => {
  const { headers } = await get('/guide', { authorization: 'Bearer good' })
  expect(headers['cache-control']).toBe('private, no-store')
  expect(headers.vary).toContain('Authorization')
})

test.for(['/guide?fail=gone', '/guide?fail=later', '/guide?fail=sensitive', '/uncached', '/nothing'])(
  'forbids caches to store %s',
  async (path) => {
    const { headers } = await get(path)
    expect(headers['cache-control']).toBe('no-store')
    expect(headers.etag).toBeUndefined()
  },
)

test('gives no entity tag to a prepared response whose route sets Cache-Control', async () => {
  const pageHeaders = (await get('/page')).headers
  expect(pageHeaders).toMatchObject({
    'cache-control': 'public, max-age=300',
    etag: expect.stringMatching(/^"/),
  })
  // With an entity tag, this response would be 304.
  const { headers } = await get('/own', { 'if-none-match': '*' })
  expect(headers).toMatchObject(NO_STORE)
  expect(headers.etag).toBeUndefined()
})

test('sends the same response whatever the forwarding and language headers', async () => {
  const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'accept-language': 'es' }
  const plainResponse = await get('/guide')
  const forgedResponse = await get('/guide', forged)
  expect(forgedResponse.body).toBe(plainResponse.body)
  expect(forgedResponse.headers.etag).toBe(plainResponse.headers.etag)
  expect(JSON.stringify(forgedResponse.headers)).not.toContain('evil')
})
