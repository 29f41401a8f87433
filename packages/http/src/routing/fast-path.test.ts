import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Caller,
  createApp,
  createFastPath,
  createLimiter,
  createLog,
  createMemoryLimitStore,
  defineRoute,
  type LimitPolicy,
  type LimitStore,
  mountRoutes,
  parseTrustedProxies,
  prepareResponse,
  type RequestHandler,
} from '../index.ts'

const ORIGIN = 'https://plainpath.example'
const GUIDES_RESPONSE = prepareResponse(
  'application/json; charset=utf-8',
  JSON.stringify({ guides: 'all of them '.repeat(50) }),
)
const NOON = new Date('2026-11-21T12:00:00Z')
const CLIENT_HEADERS = { authorization: 'Bearer good' }
const DOMAIN_CLIENT_HEADERS = { authorization: 'Bearer domain' }
const CALLERS: Readonly<Record<string, Caller>> = {
  [CLIENT_HEADERS.authorization]: { clientId: 'agt_good', scopes: new Set() },
  [DOMAIN_CLIENT_HEADERS.authorization]: {
    clientId: 'https://agent.example.org/agent.json',
    verifiedDomain: 'agent.example.org',
    scopes: new Set(),
  },
}
const createPolicy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
/** The quotas differ, so the number of allowed requests shows which limit refuses. */
const limits = {
  address: [createPolicy('address', 300)],
  anonymous: [createPolicy('anonymous', 30)],
  client: [createPolicy('client', 60)],
  verified: [createPolicy('verified', 90)],
  domain: [createPolicy('domain', 70)],
}

/**
 * Starts the same service twice: the app alone (`slow`), and with the fast path in front of it (`fast`). Records the targets that
 * the fast path leaves to the app (`passedTargets`), and the arguments of `onResponse` without `seconds`, which vary.
 */
async function startBoth({ store, now = () => new Date() }: { store?: LimitStore; now?: () => Date } = {}) {
  const recordedResponses: object[] = []
  const log = createLog({ service: 'test', write: () => {} })
  const context = {
    origin: ORIGIN,
    log,
    trustedProxies: parseTrustedProxies('127.0.0.1'),
    onResponse: ({ seconds: _seconds, ...response }: { seconds: number }) =>
      void recordedResponses.push(response),
  }
  const buildApp = () => {
    const limiter = createLimiter({ store: store ?? createMemoryLimitStore(now), factor: 1, now, log })
    const bearer = async (ctx: Koa.Context) => CALLERS[ctx.get('authorization')] ?? ctx.throw(401)
    const route = defineRoute({
      method: 'get',
      path: '/guides',
      operationId: 'listGuides',
      summary: 'All guides',
      access: 'public',
      cache: 'public',
      limits,
      responses: { 200: z.unknown() },
      handle: () => ({ status: 200, prepared: GUIDES_RESPONSE }),
    })
    const app = createApp({
      ...context,
      clock: { requireSynchronised: () => undefined },
      csp: '',
      chooseErrorFormat: () => 'problem',
      browsers: { additionalHosts: [], allowedOrigins: [], isPublicGet: () => true },
    })
    app.use(mountRoutes([route], { limiter, authenticators: { bearer } }))
    return { limiter, handler: app.callback() }
  }
  await using opening = new AsyncDisposableStack()
  const listen = async (handler: RequestHandler) => {
    const server = createServer({ requireHostHeader: false }, (...args) => void handler(...args))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opening.defer(() => {
      server.close()
      server.closeAllConnections()
    })
    return (server.address() as AddressInfo).port
  }
  const appAlone = buildApp()
  const appBehindFastPath = buildApp()
  const passedTargets: string[] = []
  const fastHandler = createFastPath(
    (...args) => {
      passedTargets.push(args[0].url ?? '')
      return appBehindFastPath.handler(...args)
    },
    {
      ...context,
      limiter: appBehindFastPath.limiter,
      find: (target) =>
        target === '/guides' ? { route: '/guides', limits, response: GUIDES_RESPONSE } : undefined,
      findCachedCaller: ({ headers }) => CALLERS[headers.authorization ?? ''],
    },
  )
  const ports = { slow: await listen(appAlone.handler), fast: await listen(fastHandler) }
  const resources = opening.move()
  return { ports, passedTargets, recordedResponses, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

interface SentRequest {
  method?: string
  path?: string
  headers?: Record<string, string | string[]>
}

/** Lists names and values alternately, so a name can be sent twice. */
const listNamesAndValues = (headers: Record<string, string | string[]>): string[] =>
  Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]))

/** Sends a request with a fixed id, and returns the response without `Date`, so that responses of both services can be equal. */
async function get(port: number, { method = 'GET', path = '/guides', headers = {} }: SentRequest = {}) {
  const clientRequest = sendRequest({
    port,
    method,
    path,
    headers: listNamesAndValues({ host: 'plainpath.example', 'x-request-id': 'the-same-one', ...headers }),
  }).end()
  const [response] = (await once(clientRequest, 'response')) as [
    NodeJS.ReadableStream & { statusCode: number; headers: IncomingHttpHeaders },
  ]
  const { date: _date, ...fields } = response.headers
  return { status: response.statusCode, headers: fields, body: (await buffer(response)).toString('base64') }
}

describe('the fast path responds as the app does', () => {
  test.for<[string, SentRequest]>([
    ['to a plain request', {}],
    ['compressed with Brotli', { headers: { 'accept-encoding': 'gzip, br' } }],
    ['compressed with gzip', { headers: { 'accept-encoding': 'gzip' } }],
    ['to a client that accepts nothing compressed', { headers: { 'accept-encoding': 'identity' } }],
    ['to a script of another origin', { headers: { origin: 'https://elsewhere.example' } }],
    ['to a caller', { headers: CLIENT_HEADERS }],
    ['to a caller with a verified domain', { headers: DOMAIN_CLIENT_HEADERS }],
    ['through a gateway', { headers: { 'x-forwarded-for': '203.0.113.7' } }],
    ['to a client with an IPv6 address', { headers: { 'x-forwarded-for': '2001:db8::7' } }],
    ['to the host with its port, in upper case', { headers: { host: 'PLAINPATH.example:443' } }],
  ])('%s', async ([_description, request]) => {
    await using service = await startBoth()
    // The slow service caches the parsed `Accept-Encoding` for the whole process, and the fast path serves only cached ones.
    const expected = [await get(service.ports.slow, request), await get(service.ports.slow, request)]
    expect(expected[0]?.status).toBe(200)
    expect([await get(service.ports.fast, request), await get(service.ports.fast, request)]).toEqual(expected)
    expect(service.passedTargets).toEqual([])
    expect(new Set(service.recordedResponses.map((response) => JSON.stringify(response)))).toHaveLength(1)
  })
})

describe('the fast path leaves to the app', () => {
  test.for<[string, SentRequest]>([
    ['another method', { method: 'HEAD' }],
    ['a write', { method: 'POST' }],
    ['another target', { path: '/other' }],
    ['a query', { path: '/guides?q=work' }],
    ['an absolute target', { path: 'https://elsewhere.example/guides' }],
    ['a DPoP proof', { headers: { ...CLIENT_HEADERS, dpop: 'proof' } }],
    ['a condition', { headers: { 'if-none-match': '"x"' } }],
    ['a condition on time', { headers: { 'if-modified-since': 'Sat, 21 Nov 2026 00:00:00 GMT' } }],
    ['a body', { headers: { 'content-length': '0' } }],
    ['another Host', { headers: { host: 'elsewhere.example' } }],
    ['two Hosts', { headers: { host: ['plainpath.example', 'plainpath.example'] } }],
    ['a token whose caller is not cached', { headers: { authorization: 'Bearer other' } }],
    ['an empty Authorization', { headers: { authorization: '' } }],
    [
      'an Accept-Encoding that is too long to be cached',
      { headers: { 'accept-encoding': `gzip, ${'x'.repeat(250)}` } },
    ],
  ])('%s', async ([_description, request]) => {
    await using service = await startBoth()
    const expected = await get(service.ports.slow, request)
    expect(await get(service.ports.fast, request)).toEqual(expected)
    expect(service.passedTargets).toHaveLength(1)
  })
})

describe('limits', () => {
  test.for<[string, Record<string, string>, number]>([
    ['of an address without a token', {}, 30],
    ['of a client', CLIENT_HEADERS, 60],
    ['of a domain', DOMAIN_CLIENT_HEADERS, 70],
  ])('%s allow exactly the quota, and leave the rest to the app', async ([_title, headers, quota]) => {
    await using service = await startBoth({ now: () => NOON })
    // Caches `Accept-Encoding`. The slow service has a limiter of its own.
    await get(service.ports.slow, { headers })
    for (let count = 0; count < quota; count += 1)
      expect((await get(service.ports.fast, { headers })).status).toBe(200)
    expect(service.passedTargets).toEqual([])
    for (let count = 0; count < 3; count += 1)
      expect((await get(service.ports.fast, { headers })).status).toBe(429)
    expect(service.passedTargets).toHaveLength(3)
  })

  test('are left to the app if the store is needed, or a window began the day before', async () => {
    const now = () => NOON
    const { local: _local, ...shared } = createMemoryLimitStore(now)
    await using storeService = await startBoth({ store: shared, now })
    // Both services count in the same store, so their RateLimit headers differ.
    expect(await get(storeService.ports.fast)).toEqual(
      await get(storeService.ports.slow).then((response) => ({ ...response, headers: expect.anything() })),
    )
    expect(storeService.passedTargets).toHaveLength(1)
    await using midnightService = await startBoth({ now: () => new Date('2026-11-21T00:00:30Z') })
    expect(await get(midnightService.ports.fast)).toEqual(await get(midnightService.ports.slow))
    expect(midnightService.passedTargets).toHaveLength(1)
  })
})
