import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
/** An instance whose origin is `https://plainpath.example`, as behind a gateway that ends TLS. */
let httpsApi: RunningResource
const CONFIGURED_ORIGIN = 'https://app.example.org'
beforeAll(async () => {
  api = await startResource({ env: { RESOURCE_CORS_ORIGINS: CONFIGURED_ORIGIN } })
  httpsApi = await startResource({ env: { RESOURCE_ORIGIN: 'https://plainpath.example' } })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await httpsApi[Symbol.asyncDispose]()
})

/** The paths of public documents of several kinds: a list, a guide, metadata and pages. */
const PUBLIC_PATHS = [
  '/api/guides',
  '/api/guides/avoid-scams',
  '/.well-known/oauth-protected-resource',
  '/',
  '/guides/avoid-scams',
]
const get = (path: string, headers = {}) => sendRequest(api.origin, { path, headers })
const getFromHttpsApi = (path: string, headers = {}) =>
  sendRequest(httpsApi.origin, { path, headers: { host: 'plainpath.example', ...headers } })

describe('a public GET', () => {
  test.for(PUBLIC_PATHS)('may be cached for 300 s, and is 304 for its ETag: %s', async (path) => {
    const { headers } = await get(path)
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      vary: 'Accept, Accept-Encoding, Authorization',
    })
    const { etag = '' } = headers
    // 22 characters of base64url are 128 bits.
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const response = await get(path, { 'if-none-match': condition })
      expect([response.status, response.body, response.headers['etag']]).toEqual([304, '', etag])
    }
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test.for(PUBLIC_PATHS)('responds to HEAD with the same headers: %s', async (path) => {
    const { headers, body } = await get(path)
    const head = await sendRequest(api.origin, { method: 'HEAD', path })
    expect(head.body).toBe('')
    for (const name of ['content-type', 'etag', 'cache-control', 'vary'])
      expect(head.headers[name]).toBe(headers[name])
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(body)))
  })

  test('has different ETags for the two formats of a guide', async () => {
    const path = '/api/guides/avoid-scams'
    const markdown = await get(path, { accept: 'text/markdown' })
    expect(markdown.headers['etag']).not.toBe((await get(path)).headers['etag'])
  })

  test.for(PUBLIC_PATHS)('may be read by any origin, without credentials: %s', async (path) => {
    const { headers } = await get(path, { origin: 'https://anywhere.example' })
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
    const exposedHeaders = headers['access-control-expose-headers']?.split(', ')
    for (const name of [
      'DPoP-Nonce',
      'WWW-Authenticate',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'X-Request-Id',
    ])
      expect(exposedHeaders).toContain(name)
  })

  test('may be read by any origin even if it fails', async () => {
    const { headers, status } = await get('/api/guides', { origin: 'null', authorization: 'Bearer x' })
    expect(status).toBe(401)
    expect(headers['access-control-allow-origin']).toBe('*')
  })

  test('ignores headers that are not in Vary', async () => {
    const { headers, body } = await get('/')
    const response = await get('/', {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      'accept-language': 'xx',
      'x-original-url': '/api',
      'x-http-method-override': 'DELETE',
    })
    expect([response.body, response.headers['etag']]).toEqual([body, headers['etag']])
  })
})

describe('a preflight', () => {
  const preflight = (path: string, origin: string, method: string) =>
    sendRequest(api.origin, {
      method: 'OPTIONS',
      path,
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      },
    })

  test('allows any origin to read with Authorization and a DPoP proof', async () => {
    const { status, headers } = await preflight('/api/guides', 'https://anywhere.example', 'GET')
    expect(status).toBe(204)
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
    })
    const allowedHeaders = headers['access-control-allow-headers']?.split(', ')
    expect(allowedHeaders).toEqual(expect.arrayContaining(['Authorization', 'DPoP']))
  })

  test('allows only the configured origins to write', async () => {
    expect(
      (await preflight('/api/waitlist', CONFIGURED_ORIGIN, 'POST')).headers['access-control-allow-origin'],
    ).toBe(CONFIGURED_ORIGIN)
    for (const origin of [
      'https://evil.example',
      'null',
      `${CONFIGURED_ORIGIN}.evil.example`,
      'https://APP.example.org',
      `${CONFIGURED_ORIGIN}:444`,
    ]) {
      expect((await preflight('/api/waitlist', origin, 'POST')).headers).not.toHaveProperty(
        'access-control-allow-origin',
      )
    }
  })
})

test('a POST from a configured origin is accepted, and the response names the origin', async () => {
  const request = createPost(
    { email: 'cors@example.org' },
    { origin: CONFIGURED_ORIGIN, 'sec-fetch-site': 'cross-site' },
  )
  const response = await sendRequest(api.origin, { path: '/api/waitlist', ...request })
  expect(response.status).toBe(201)
  expect(response.headers).toMatchObject({ 'access-control-allow-origin': CONFIGURED_ORIGIN, vary: 'Origin' })
})

describe('the Host', () => {
  test.for([
    'evil.example',
    'plainpath.example.evil.example',
    'plainpath.example:8080',
    'plainpath.example.',
  ])('"%s" is another host: 421, and the response names our origin', async (host) => {
    const response = await getFromHttpsApi('/api/guides', { host })
    expectProblem(response, { status: 421, code: 'misdirected-request' })
    expect(response.json()['detail']).toContain('https://plainpath.example ')
    expect(response.body).not.toContain('evil')
  })

  test.for(['user@plainpath.example', 'a b', '[::1', '', 'plainpath.example, evil.example'])(
    '"%s" is not a valid host: 400',
    async (host) => {
      expectProblem(await getFromHttpsApi('/api/guides', { host }), { status: 400, code: 'invalid-request' })
    },
  )

  test.for(['PLAINPATH.example', 'plainpath.example:443'])('"%s" is our host: 200', async (host) => {
    expect((await getFromHttpsApi('/api/guides', { host })).status).toBe(200)
  })

  test('is also checked in an absolute request target', async () => {
    expectProblem(await getFromHttpsApi('http://evil.example/api/guides'), {
      status: 421,
      code: 'misdirected-request',
    })
    expect((await getFromHttpsApi('https://plainpath.example/api/guides')).status).toBe(200)
  })

  test('is 400 if it is sent twice', async () => {
    const rawHeaders = ['Host', 'plainpath.example', 'host', 'plainpath.example']
    expectProblem(await sendRequest(httpsApi.origin, { path: '/api/guides', rawHeaders }), {
      status: 400,
      code: 'invalid-request',
    })
  })

  test('does not appear in the metadata, which names the configured origin', async () => {
    const { body } = await sendRequest(httpsApi.origin, {
      path: '/.well-known/oauth-protected-resource',
      headers: { host: 'plainpath.example:443' },
    })
    expect(JSON.parse(body)).toMatchObject({ resource: 'https://plainpath.example/api' })
  })
})

describe('every response', () => {
  test('has the request id of the request, or a new one if that is invalid', async () => {
    expect((await get('/', { 'x-request-id': 'my-request.1_2' })).headers['x-request-id']).toBe(
      'my-request.1_2',
    )
    for (const invalidId of ['short', 'x'.repeat(65), 'has blank in it', '<script>alert(1)</script>']) {
      expect((await get('/', { 'x-request-id': invalidId })).headers['x-request-id']).toMatch(
        /^[0-9a-f-]{36}$/,
      )
    }
  })

  test('has HSTS if and only if the origin is https', async () => {
    expect((await getFromHttpsApi('/')).headers['strict-transport-security']).toMatch(/^max-age=\d{8}/)
    expect((await getFromHttpsApi('/nowhere')).headers['strict-transport-security']).toMatch(/^max-age=\d{8}/)
    expect((await get('/')).headers).not.toHaveProperty('strict-transport-security')
  })

  test('names no software', async () => {
    const { headers } = await get('/')
    expect(headers).not.toHaveProperty('x-powered-by')
    expect(headers).not.toHaveProperty('server')
  })
})

describe('another method', () => {
  test.for([
    ['POST', '/api/guides', 'GET, HEAD'],
    ['DELETE', '/api/guides/avoid-scams', 'GET, HEAD'],
    ['GET', '/api/waitlist', 'POST'],
    ['PUT', '/api/waitlist', 'POST'],
    ['PATCH', '/api/health', 'GET, HEAD'],
    ['POST', '/.well-known/oauth-protected-resource', 'GET, HEAD'],
    ['OPTIONS', '/api/guides', 'GET, HEAD'],
    ['TRACE', '/api/guides', 'GET, HEAD'],
    ['PROPFIND', '/api/guides', 'GET, HEAD'],
  ] as const)('%s %s is 405 with Allow: %s', async ([method, path, allow]) => {
    const response = await sendRequest(api.origin, { method, path })
    expectProblem(response, { status: 405, code: 'method-not-allowed' })
    expect(response.headers['allow']).toBe(allow)
  })
})

test.for([
  '//api/guides',
  '/./api/guides',
  '/api//guides',
  '/api/guides/',
  '/API/guides',
  '/api/%67uides',
  '/api/guides%2f',
  '/api/guides;x=1',
  '/api/guides%00',
  '/api/%zz',
  '*',
  '/api/guides/avoid-scams/x.css',
])('another spelling of a path is 404: %s', async (path) => {
  const response = await get(path, { accept: 'application/json' })
  expectProblem(response, { status: 404, code: 'not-found' })
})

test('the operations routes are on another port, and the metrics name no guide path and no address', async () => {
  for (const path of ['/live', '/ready', '/metrics']) expect((await get(path)).status).toBe(404)
  expect((await fetch(`${api.operations.url}/live`)).status).toBe(200)
  const ready = await fetch(`${api.operations.url}/ready`)
  expect(await ready.json()).toEqual({ status: 'ready', checks: { schema: 'ok', guides: 'ok', clock: 'ok' } })
  const metrics = await (await fetch(`${api.operations.url}/metrics`)).text()
  expect(metrics).toContain('route="/api/guides/{slug}"')
  expect(metrics).toContain('database_pool{state="waiting",service="resource"} 0')
  // This API has no Redis. With this metric, the alert `NoLease` would fire.
  expect(metrics).not.toContain('revocation_lease_valid')
  // The label `guide` may name guides, because their number is fixed.
  expect(metrics.replaceAll(/guide="[a-z0-9-]+"/g, '')).not.toMatch(/avoid-scams|127\.0\.0\.1/)
})
