import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, type HttpRequest, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

/*
 * With a factor of 1, the limit of an address without a token is 120 reads a minute. The tests with this factor send a few more.
 */

const readGuides = (origin: string, forwardedFor?: string) =>
  sendRequest(origin, {
    path: '/api/guides',
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  })
/** Sends requests simultaneously. Returns the number of accepted ones, and a refusal if there is any. */
async function sendAll(count: number, send: (index: number) => ReturnType<typeof readGuides>) {
  const responses = await Promise.all(Array.from({ length: count }, (_, index) => send(index)))
  return {
    acceptedCount: responses.filter(({ status }) => status === 200).length,
    refusal: responses.find(({ status }) => status === 429),
  }
}

describe('the limits of an address', () => {
  test('are enforced by each process alone while Redis is unavailable', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_REDIS_URL: 'redis://127.0.0.1:1' },
    })
    const { acceptedCount, refusal } = await sendAll(125, () => readGuides(api.origin))
    expect(acceptedCount).toBe(120)
    if (!refusal) throw new Error('no request was refused')
    expectProblem(refusal, { status: 429, code: 'rate-limited' })
  })

  test('ignore X-Forwarded-For from a caller that is not a trusted proxy', async () => {
    await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const { acceptedCount } = await sendAll(125, (index) => readGuides(api.origin, `10.0.0.${index}`))
    expect(acceptedCount).toBe(120)
  })

  test('apply to the address that a trusted proxy adds to X-Forwarded-For, and to an IPv6 /64', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' },
    })
    // The proxy adds the last address. The caller can invent those before it.
    const sameAddress = await sendAll(125, (index) =>
      readGuides(api.origin, `192.0.2.${index}, 198.51.100.7`),
    )
    expect(sameAddress.acceptedCount).toBe(120)
    expect((await readGuides(api.origin, '198.51.100.8')).status).toBe(200)
    const sameNetwork = await sendAll(125, (index) =>
      readGuides(api.origin, `2001:db8:1:2::${index.toString(16)}`),
    )
    expect(sameNetwork.acceptedCount).toBe(120)
  })

  test('bound how many unknown tokens are introspected', async () => {
    await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '0.01' } })
    const responses = await Promise.all(
      Array.from({ length: 100 }, () =>
        sendRequest(api.origin, {
          path: '/api/guides',
          headers: { authorization: `Bearer ppt_${randomBytes(32).toString('base64url')}` },
        }),
      ),
    )
    // The limit is 30 a minute times the factor, but at least one.
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(99)
    expect(api.auth.requests.introspection).toBe(1)
  })
})

/** Pages and parts of the API description that take as long to create as a search or an answer of the API. */
const EXPENSIVE_REQUESTS: readonly (HttpRequest & { readonly format: 'page' | 'problem' | 'head' })[] = [
  { path: '/search?q=gren+crad', format: 'page' },
  { method: 'HEAD', path: '/search?q=gren+crad', format: 'head' },
  { path: '/ask', ...createForm('question=When+do+I+renew+my+green+card'), format: 'page' },
  { path: '/openapi.json?tag=Guides,Agents', format: 'problem' },
  { path: '/openapi.json?operation=getGuide', format: 'problem' },
  { method: 'HEAD', path: '/openapi.json?tag=OAuth', format: 'head' },
  { path: '/openapi.json?tag=Waitlist', headers: { 'if-none-match': '"x"' }, format: 'problem' },
  // An open route does not check a token, so a token cannot raise its limits.
  { path: '/openapi.json?tag=Health', headers: { authorization: 'Bearer x' }, format: 'problem' },
]

function createForm(fields: string) {
  const { headers, ...post } = createPost(fields, { 'content-type': 'application/x-www-form-urlencoded' })
  return { ...post, headers: { ...headers, 'sec-fetch-site': 'same-origin' } }
}

describe('the limit of an address without a token', () => {
  let api: RunningResource
  beforeAll(async () => {
    // With this factor, it is one request a minute. The limit of all requests of an address is 30.
    const env = { RESOURCE_LIMITS_FACTOR: '0.01', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' }
    api = await startResource({ env })
  })
  afterAll(() => api[Symbol.asyncDispose]())

  let addressCount = 0
  /** Returns a function that sends requests from an address of its own. */
  function createVisitor() {
    addressCount += 1
    const forwardedFor = `198.51.100.${addressCount}`
    return ({ headers, ...request }: HttpRequest) =>
      sendRequest(api.origin, {
        ...request,
        headers: { accept: 'text/html', 'x-forwarded-for': forwardedFor, ...headers },
      })
  }
  const search = { path: '/api/guides?q=visa' }
  const ask = { path: '/api/answers', ...createPost({ question: 'When do I renew my green card?' }) }

  test.for(EXPENSIVE_REQUESTS.map((request) => ({ method: 'GET', ...request })))(
    'counts $method $path together with searches and questions to the API',
    async ({ format, ...request }) => {
      const send = createVisitor()
      const allowed = await send(request)
      expect([allowed.status, allowed.headers['ratelimit-policy']]).toEqual([
        200,
        '"reads-address";q=30;w=60, "reads-anonymous";q=1;w=60',
      ])
      for (const apiRequest of [search, ask])
        expectProblem(await send(apiRequest), { status: 429, code: 'rate-limited' })

      const sendAfterSearch = createVisitor()
      expect((await sendAfterSearch(search)).status).toBe(200)
      const refusal = await sendAfterSearch(request)
      expect(refusal.status).toBe(429)
      expect(Number(refusal.headers['retry-after'])).toBeGreaterThan(0)
      expect(Number(refusal.headers['retry-after'])).toBeLessThanOrEqual(60)
      if (format === 'head') expect(refusal.body).toBe('')
      if (format === 'problem') {
        expectProblem(refusal, { status: 429, code: 'rate-limited' })
        expect(refusal.json()).toMatchObject({ policy: 'reads-anonymous' })
      }
      if (format === 'page') {
        expect(refusal.headers).toMatchObject({
          'content-type': expect.stringMatching(/^text\/html/),
          'cache-control': 'no-store',
        })
        expect(refusal.body).toContain('<h1>Too many requests</h1>')
        expect(refusal.body).toMatch(/Try again in \d+ seconds?\./)
        expect(refusal.body).toContain('Reload this page')
        expect(refusal.body).toContain('href="/get-help"')
        expect(refusal.body).not.toContain('Retry-After')
      }
    },
  )

  test.for(['/', '/ask', '/guides', '/openapi.json', '/openapi.json?x=1', '/llms.txt', '/api/health'])(
    'does not count %s',
    async (path) => {
      const send = createVisitor()
      expect((await send(search)).status).toBe(200)
      expect((await send(search)).status).toBe(429)
      for (let count = 0; count < 3; count += 1) {
        const { status, headers } = await send({ path })
        expect([status, headers['ratelimit-policy']]).toEqual([200, '"reads-address";q=30;w=60'])
      }
    },
  )

  test('counts requests without a route (404, 405) together, and refuses them with the page for browsers', async () => {
    const send = createVisitor()
    const requests = [{ path: '/nowhere' }, { path: '/guides', method: 'PUT' }]
    // The quota is 30.
    for (let round = 0; round < 15; round += 1) {
      const responses = []
      for (const request of requests) responses.push(await send(request))
      expect(responses.map(({ status }) => status)).toEqual([404, 405])
      for (const { headers } of responses)
        expect(headers['ratelimit-policy']).toBe('"reads-address";q=30;w=60')
    }
    for (const request of requests) {
      const refusal = await send(request)
      expect(refusal.status).toBe(429)
      expect(refusal.body).toContain('<h1>Too many requests</h1>')
    }
    expect((await createVisitor()({ path: '/nowhere' })).status).toBe(404)
  })
})
