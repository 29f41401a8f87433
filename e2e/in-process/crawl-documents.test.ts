import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from './start-system.ts'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

const JSON_TYPE = 'application/json'
const DOCUMENTS = [
  ['/.well-known/api-catalog', 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'],
  ['/openapi.json', JSON_TYPE],
  ['/.well-known/agent-skills/index.json', JSON_TYPE],
  ['/.well-known/agent-skills/use-immigration-guidance-api/SKILL.md', 'text/markdown; charset=utf-8'],
  ['/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md', 'text/markdown; charset=utf-8'],
  ['/.well-known/oauth-protected-resource', JSON_TYPE],
  ['/.well-known/oauth-protected-resource/api', JSON_TYPE],
  ['/.well-known/oauth-protected-resource/api/mcp', JSON_TYPE],
  ['/.well-known/oauth-authorization-server', JSON_TYPE],
  ['/auth.md', 'text/markdown; charset=utf-8'],
  ['/auth/verified-email.md', 'text/markdown; charset=utf-8'],
  ['/auth/keys.md', 'text/markdown; charset=utf-8'],
  ['/auth/domain.md', 'text/markdown; charset=utf-8'],
  ['/auth/dpop.md', 'text/markdown; charset=utf-8'],
  ['/auth/errors.md', 'text/markdown; charset=utf-8'],
  ['/auth/lifetimes.md', 'text/markdown; charset=utf-8'],
  ['/mcp.md', 'text/markdown; charset=utf-8'],
  ['/.well-known/ai-catalog.json', 'application/ai-catalog+json'],
  ['/api', JSON_TYPE],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/robots.txt', 'text/plain; charset=utf-8'],
  ['/sitemap.xml', 'application/xml; charset=utf-8'],
  ['/.well-known/security.txt', 'text/plain; charset=utf-8'],
] as const

interface ReceivedResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/** Sends a request without `fetch`, which adds `Cache-Control: no-cache` to conditional requests and sets Host itself. */
async function sendRequest(
  path: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<ReceivedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedResponse>()
  const { hostname, port, host } = new URL(system.origin)
  const clientRequest = request({
    hostname,
    port,
    path,
    method,
    headers: { host, ...headers },
    setHost: false,
    agent: false,
  })
  clientRequest.on('error', reject).on('response', (response) => {
    const receivedHeaders = Object.fromEntries(
      Object.entries(response.headersDistinct).map(([name, values]) => [name, values?.join(', ') ?? '']),
    )
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, headers: receivedHeaders, body }),
      reject,
    )
  })
  clientRequest.end()
  return promise
}

describe.for(DOCUMENTS)('%s', ([path, type]) => {
  test('is served to anyone with its type, may be cached for 300 s, and can be read by scripts of any origin', async () => {
    const { status, headers, body } = await sendRequest(path, 'GET', { origin: 'https://app.example' })
    expect(status).toBe(200)
    expect(body.length).toBeGreaterThan(40)
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
      vary: expect.stringMatching(/Accept, Accept-Encoding, Authorization/),
      etag: expect.stringMatching(/^"[\w-]+"$/),
    })
    expect(headers['access-control-expose-headers']).toMatch(/\bETag\b/)
    expect(headers).not.toHaveProperty('set-cookie')
    // The response is the same for every origin, so a cache needs only one copy.
    expect(headers['vary']).not.toMatch(/Origin/)
  })

  test('has the same headers for HEAD, and is not sent again to a client that has its ETag', async () => {
    const [get, head] = [await sendRequest(path), await sendRequest(path, 'HEAD')]
    expect(head).toMatchObject({ status: 200, body: '' })
    for (const name of ['content-type', 'content-length', 'etag', 'link', 'cache-control'])
      expect(head.headers[name]).toBe(get.headers[name])
    const notModified = await sendRequest(path, 'GET', { 'if-none-match': get.headers['etag'] ?? '' })
    expect(notModified).toMatchObject({ status: 304, body: '' })
    expect(notModified.headers).toMatchObject({
      etag: get.headers['etag'],
      'cache-control': 'public, max-age=300',
    })
  })

  test('permits scripts of any origin in a preflight, and responds to methods other than GET and HEAD with 405', async () => {
    const preflight = await sendRequest(path, 'OPTIONS', {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': expect.stringMatching(/If-None-Match/),
    })
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const refusal = await sendRequest(path, method)
      expect(refusal.status).toBe(405)
      expect(refusal.headers['allow']).toMatch(/\bGET\b/)
      expect(refusal.headers['allow']).toMatch(/\bHEAD\b/)
    }
  })

  test('has the same bytes whatever forwarded host a request names, and rejects a forged Host', async () => {
    const { body } = await sendRequest(path)
    const forwarded = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    expect((await sendRequest(path, 'GET', forwarded)).body).toBe(body)
    const forged = await sendRequest(path, 'GET', { host: 'evil.example' })
    expect(forged.status).toBe(421)
    expect(forged.body).not.toContain('evil.example')
    expect((await sendRequest(path)).body).toBe(body)
  })
})

describe('requirements of checkers', () => {
  test('RFC 9727 §3: HEAD of the catalog has a Link with rel="api-catalog"', async () => {
    const { headers } = await sendRequest('/.well-known/api-catalog', 'HEAD')
    expect(headers['link']).toMatch(/^<[^>]+\/\.well-known\/api-catalog>; rel="api-catalog"/)
  })

  test('isitagentready.com apiCatalog: 200 for Accept: application/linkset+json, application/json', async () => {
    const { status, headers, body } = await sendRequest('/.well-known/api-catalog', 'GET', {
      accept: 'application/linkset+json, application/json',
    })
    expect({ status, type: headers['content-type']?.split(';')[0] }).toEqual({
      status: 200,
      type: 'application/linkset+json',
    })
    expect(JSON.parse(body).linkset.length).toBeGreaterThan(0)
  })

  test('isitagentready.com authMd: 200 for Accept: text/markdown, text/plain, */*', async () => {
    const { status, headers } = await sendRequest('/auth.md', 'GET', {
      accept: 'text/markdown, text/plain, */*',
    })
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/markdown; charset=utf-8',
    })
  })

  test('AI Catalog: its entries are served with their declared types', async () => {
    const { entries } = JSON.parse((await sendRequest('/.well-known/ai-catalog.json')).body) as {
      entries: { url: string; type: string }[]
    }
    for (const { url, type } of entries) {
      const { headers } = await sendRequest(new URL(url).pathname, 'GET', { accept: type })
      expect(headers['content-type']).toBe(type)
    }
  })

  test('isitagentready.com linkHeaders: the response of the home page is 200, and its Link has the documents for agents', async () => {
    const { status, headers } = await sendRequest('/')
    expect(status).toBe(200)
    for (const relation of ['api-catalog', 'service-desc', 'service-doc', 'describedby'])
      expect(headers['link']).toContain(`rel="${relation}"`)
  })

  test('probes: an empty POST gets 201 from the registration, and 401 or 400 from the token endpoint', async () => {
    expect((await sendRequest('/api/agent/register', 'POST')).status).toBe(201)
    const token = await sendRequest('/oauth/token', 'POST')
    expect([400, 401]).toContain(token.status)
    expect(token.headers['content-type']).toMatch(/^application\/json\b/)
  })

  test('ora.ai: an unknown path of the API gets a JSON error', async () => {
    const { status, headers, body } = await sendRequest('/api/no-such-thing', 'GET', { accept: 'text/html' })
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 404,
      type: 'application/problem+json',
    })
    expect(JSON.parse(body)).toMatchObject({ code: 'not-found' })
  })
})
