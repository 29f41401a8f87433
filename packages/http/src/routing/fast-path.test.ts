import { once } from 'node:events'
import { request as ask, createServer, type IncomingHttpHeaders } from 'node:http'
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
const ANSWER = prepareResponse(
  'application/json; charset=utf-8',
  JSON.stringify({ guides: 'all of them '.repeat(50) }),
)
const NOON = new Date('2026-11-21T12:00:00Z')
const GOOD = { authorization: 'Bearer good' }
const AT_DOMAIN = { authorization: 'Bearer domain' }
const CALLERS: Readonly<Record<string, Caller>> = {
  [GOOD.authorization]: { clientId: 'agt_good', scopes: new Set() },
  [AT_DOMAIN.authorization]: {
    clientId: 'https://agent.example.org/agent.json',
    verifiedDomain: 'agent.example.org',
    scopes: new Set(),
  },
}
const policy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
const limits = {
  address: [policy('address', 300)],
  anonymous: [policy('anonymous', 30)],
  client: [policy('client', 60)],
  verified: [policy('verified', 90)],
  domain: [policy('domain', 70)],
}

/** The same service twice: the app alone (`usual`), and with the fast path in front of it (`quick`). */
async function start({ store, now = () => new Date() }: { store?: LimitStore; now?: () => Date } = {}) {
  const logged: string[] = []
  const recorded: object[] = []
  const log = createLog({ service: 'test', write: (line) => logged.push(line) })
  const context = {
    origin: ORIGIN,
    log,
    trustedProxies: parseTrustedProxies('127.0.0.1'),
    onResponse: ({ seconds: _seconds, ...response }: { seconds: number }) => void recorded.push(response),
  }
  const build = () => {
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
      handle: () => ({ status: 200, prepared: ANSWER }),
    })
    const app = createApp({
      ...context,
      clock: { requireSynchronised: () => undefined },
      csp: '',
      chooseErrorFormat: () => 'problem',
      browsers: { alsoAcceptHosts: [], allowedOrigins: [], isPublicGet: () => true },
    })
    app.use(mountRoutes([route], { limiter, authenticators: { bearer } }))
    return { limiter, usual: app.callback() }
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
  const alone = build()
  const under = build()
  const passed: string[] = []
  const quick = createFastPath(
    (...args) => {
      passed.push(args[0].url ?? '')
      return under.usual(...args)
    },
    {
      ...context,
      limiter: under.limiter,
      find: (target) => (target === '/guides' ? { route: '/guides', limits, response: ANSWER } : undefined),
      findCachedCaller: ({ headers }) => CALLERS[headers.authorization ?? ''],
    },
  )
  const ports = { usual: await listen(alone.usual), quick: await listen(quick) }
  const resources = opening.move()
  return { ports, passed, recorded, logged, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

interface Asked {
  method?: string
  path?: string
  headers?: Record<string, string | string[]>
}

/** As they are sent, so that a name may stand twice. */
const namesAndValues = (headers: Record<string, string | string[]>): string[] =>
  Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]))

async function get(port: number, { method = 'GET', path = '/guides', headers = {} }: Asked = {}) {
  const sent = ask({
    port,
    method,
    path,
    headers: namesAndValues({ host: 'plainpath.example', 'x-request-id': 'the-same-one', ...headers }),
  }).end()
  const [response] = (await once(sent, 'response')) as [
    NodeJS.ReadableStream & { statusCode: number; headers: IncomingHttpHeaders },
  ]
  const { date: _date, ...fields } = response.headers
  return { status: response.statusCode, headers: fields, body: (await buffer(response)).toString('base64') }
}

describe('responds exactly as the app does to', () => {
  test.for<[string, Asked]>([
    ['to a plain request', {}],
    ['compressed', { headers: { 'accept-encoding': 'gzip, br' } }],
    ['compressed otherwise', { headers: { 'accept-encoding': 'gzip' } }],
    ['to who takes nothing compressed', { headers: { 'accept-encoding': 'identity' } }],
    ['to a script of another origin', { headers: { origin: 'https://elsewhere.example' } }],
    ['to a caller', { headers: GOOD }],
    ['to a caller with a verified domain', { headers: AT_DOMAIN }],
    ['through a gateway', { headers: { 'x-forwarded-for': '203.0.113.7' } }],
    ['to an IPv6 network', { headers: { 'x-forwarded-for': '2001:db8::7' } }],
    ['to the name with its port', { headers: { host: 'PLAINPATH.example:443' } }],
  ])('%s', async ([_why, sent]) => {
    await using service = await start()
    // The app parses each value of `Accept-Encoding` once.
    const expected = [await get(service.ports.usual, sent), await get(service.ports.usual, sent)]
    expect(expected[0]?.status).toBe(200)
    expect([await get(service.ports.quick, sent), await get(service.ports.quick, sent)]).toEqual(expected)
    expect(service.passed).toEqual([])
    expect(new Set(service.recorded.map((each) => JSON.stringify(each)))).toHaveLength(1)
  })
})

describe('leaves to the app', () => {
  test.for<[string, Asked]>([
    ['another method', { method: 'HEAD' }],
    ['a write', { method: 'POST' }],
    ['another target', { path: '/other' }],
    ['a query', { path: '/guides?q=work' }],
    ['an absolute target', { path: 'https://elsewhere.example/guides' }],
    ['a DPoP proof', { headers: { ...GOOD, dpop: 'proof' } }],
    ['a condition', { headers: { 'if-none-match': '"x"' } }],
    ['a condition on time', { headers: { 'if-modified-since': 'Sat, 21 Nov 2026 00:00:00 GMT' } }],
    ['a body', { headers: { 'content-length': '0' } }],
    ['another Host', { headers: { host: 'elsewhere.example' } }],
    ['two Hosts', { headers: { host: ['plainpath.example', 'plainpath.example'] } }],
    ['a token that is not known', { headers: { authorization: 'Bearer other' } }],
    ['an empty Authorization', { headers: { authorization: '' } }],
    ['encodings that are not remembered', { headers: { 'accept-encoding': `gzip, ${'x'.repeat(250)}` } }],
  ])('%s', async ([_why, sent]) => {
    await using service = await start()
    const expected = await get(service.ports.usual, sent)
    expect(await get(service.ports.quick, sent)).toEqual(expected)
    expect(service.passed).toHaveLength(1)
  })
})

describe('limits', () => {
  test.for<[string, Record<string, string>, number]>([
    ['of an address without a token', {}, 30],
    ['of a client', GOOD, 60],
    ['of a domain', AT_DOMAIN, 70],
  ])('%s are the same, and a refused request is not counted', async ([_why, headers, quota]) => {
    await using service = await start({ now: () => NOON })
    await get(service.ports.usual, { headers })
    for (let count = 0; count < quota; count += 1)
      expect((await get(service.ports.quick, { headers })).status).toBe(200)
    expect(service.passed).toEqual([])
    for (let count = 0; count < 3; count += 1)
      expect((await get(service.ports.quick, { headers })).status).toBe(429)
    expect(service.passed).toHaveLength(3)
  })

  test('are left to the app if the store is needed, or a window began the day before', async () => {
    const now = () => NOON
    const { local: _local, ...shared } = createMemoryLimitStore(now)
    await using asking = await start({ store: shared, now })
    expect(await get(asking.ports.quick)).toEqual(
      await get(asking.ports.usual).then((response) => ({ ...response, headers: expect.anything() })),
    )
    expect(asking.passed).toHaveLength(1)
    await using midnight = await start({ now: () => new Date('2026-11-21T00:00:30Z') })
    expect(await get(midnight.ports.quick)).toEqual(await get(midnight.ports.usual))
    expect(midnight.passed).toHaveLength(1)
  })
})
