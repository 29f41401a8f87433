import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import type { ErrorFormat } from '@plainpath/http'
import { GATEWAY_CHECK_HOST } from '@plainpath/http'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { expectSafeResponse } from '@plainpath/http/testing'
import type { AppName } from '@plainpath/metadata'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSender, type HttpRequest, json, type Sender } from '../send.ts'
import {
  SHIPPED_ORIGIN as origin,
  SHIPPED,
  type ShippedGateway,
  startShippedGateway,
} from './shipped-gateway.ts'

/*
 * Tests Caddy with the variables that Kubernetes and compose.yaml give it, in front of the apps and without them. `gateway.ts`
 * tests the gateway of a local stack.
 */

const { host } = new URL(origin)
const mcpPublicOrigin = SHIPPED.kubernetes['PLAINPATH_MCP_PUBLIC_ORIGIN'] ?? ''
/** Nothing listens on this port, so mails stay in the queue. */
const NO_MAIL_SERVER = 'smtp://127.0.0.1:9'
/** Hosts that the apps must reject. Only health checks may use the last one. */
const OTHER_HOSTS = ['evil.example', `${host}.evil.example`, `${host}:8443`, '127.0.0.1', GATEWAY_CHECK_HOST]
/** Matches a request id that the gateway or an app generated: a UUID. */
const GENERATED_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
const REQUEST_ID = 'an-id.of_the-client'

const resources = new AsyncDisposableStack()
let stack: Stack
let kubernetesGateway: ShippedGateway
let composeGateway: ShippedGateway
let gatewayWithoutApps: ShippedGateway
let apps: { readonly auth: Sender; readonly resource: Sender }

beforeAll(async () => {
  const { path: folder } = resources.use(await createTemporaryFolder('shipped'))
  const settings = {
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    RESOURCE_MCP_PUBLIC_ORIGIN: mcpPublicOrigin,
    AUTH_SMTP_URL: NO_MAIL_SERVER,
    RESOURCE_SMTP_URL: NO_MAIL_SERVER,
  }
  stack = resources.use(await startStack({ folder, settings }))
  const [auth, resource] = [stack.auth, stack.resource].map((running) =>
    running.map(({ ports }) => `127.0.0.1:${ports.public}`),
  ) as [string[], string[]]
  kubernetesGateway = resources.use(await startShippedGateway(SHIPPED.kubernetes, { auth, resource }))
  composeGateway = resources.use(await startShippedGateway(SHIPPED.compose, { auth, resource }))
  const [unusedPort = 0] = await reserveFreePorts(1)
  const noApps = { auth: [`127.0.0.1:${unusedPort}`], resource: [`127.0.0.1:${unusedPort}`] }
  gatewayWithoutApps = resources.use(await startShippedGateway(SHIPPED.kubernetes, noApps))
  apps = {
    auth: resources.use(createSender(`http://${auth[0]}`)),
    resource: resources.use(createSender(`http://${resource[0]}`)),
  }
}, 120_000)
afterAll(() => resources.disposeAsync())

/** Sends directly to an app. Closes the connection afterwards, because the apps close idle connections after some seconds. */
const sendToApp = (app: AppName, request: HttpRequest) =>
  apps[app].send({ ...request, headers: { ...request.headers, connection: 'close' } })

/** Adds the `Host` header of the origin, and other headers, which may replace it. */
const addHost = (request: HttpRequest, extraHeaders: Readonly<Record<string, string>> = {}): HttpRequest => ({
  ...request,
  headers: { host, ...request.headers, ...extraHeaders },
})

describe('the apps serve requests for their own host and reject those for another', () => {
  const register = { method: 'POST', path: '/api/agent/register', ...json({ client_name: 'Atlas' }) }
  const requests: [HttpRequest, number][] = [
    [register, 201],
    [{ path: '/api/guides' }, 200],
    [{ path: '/oauth/jwks.json' }, 200],
    [{ path: '/' }, 200],
  ]

  test('over TLS, with the gateway settings of Kubernetes', async () => {
    for (const [request, status] of requests) {
      const acceptedResponse = await kubernetesGateway.secure.send(addHost(request))
      expect(acceptedResponse.status, request.path).toBe(status)
      expectSafeResponse(acceptedResponse, { origin })
      for (const otherHost of OTHER_HOSTS) {
        const response = await kubernetesGateway.secure.send(addHost(request, { host: otherHost }))
        expect(response.status, `${request.path} ${otherHost}`).toBe(421)
        if (!request.path.startsWith('/oauth/'))
          expect(response.text).toContain(`available at ${origin} only`)
        expectSafeResponse(response, { origin })
      }
    }
  })

  test('without TLS, with the gateway settings of compose.yaml', async () => {
    for (const [request, status] of requests) {
      expect((await composeGateway.plain.send(addHost(request))).status).toBe(status)
      for (const otherHost of OTHER_HOSTS)
        expect((await composeGateway.plain.send(addHost(request, { host: otherHost }))).status).toBe(421)
    }
  })
})

test('the gateway speaks HTTP/1.1 with clients that also offer HTTP/2', async () => {
  const socket = connect({
    host: '127.0.0.1',
    port: kubernetesGateway.httpsPort,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...kubernetesGateway.tls,
  })
  await once(socket, 'secureConnect')
  expect(socket.alpnProtocol).toBe('http/1.1')
  socket.destroy()
})

test('the gateway ends a response that the client does not read, and serves other clients meanwhile', async () => {
  const writeSeconds = 3
  const connectionCount = 50
  // More than the buffers of a connection hold.
  const largeBody = Buffer.alloc(32 * 1_048_576, 'x')
  await using testResources = new AsyncDisposableStack()
  const app = createServer((request, response) => response.end(request.url === '/large' ? largeBody : 'ok'))
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  testResources.defer(() => {
    app.closeAllConnections()
    app.close()
  })
  const addresses = [`127.0.0.1:${(app.address() as AddressInfo).port}`]
  const gateway = testResources.use(
    await startShippedGateway(SHIPPED.kubernetes, { auth: addresses, resource: addresses }, (caddyfile) => {
      expect(caddyfile).toContain('\twrite 60s\n')
      return caddyfile.replace('\twrite 60s\n', `\twrite ${writeSeconds}s\n`)
    }),
  )
  const sockets = Array.from({ length: connectionCount }, () => {
    const socket = connect({ host: '127.0.0.1', port: gateway.httpsPort, ...gateway.tls })
    socket.on('error', () => undefined)
    socket.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    testResources.defer(() => void socket.destroy())
    return socket
  })
  const countConnectionsToApp = () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    app.getConnections((_error, count) => resolve(count))
    return promise
  }
  await expect.poll(countConnectionsToApp).toBeGreaterThanOrEqual(connectionCount)
  const otherStatuses: number[] = []
  const sendOtherRequest = async () => {
    const { status } = await gateway.secure.send(addHost({ path: '/other' }))
    otherStatuses.push(status)
  }
  // The gateway closes its connections to the app, except for those of other requests and health checks.
  await expect
    .poll(() => sendOtherRequest().then(countConnectionsToApp), { timeout: (writeSeconds + 5) * 1_000 })
    .toBeLessThan(5)
  expect(new Set(otherStatuses)).toEqual(new Set([200]))
  const receivedCounts = await Promise.all(
    sockets.map(async (socket) => {
      let receivedBytes = 0
      socket.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.length
      })
      if (!socket.closed) await once(socket, 'close')
      return receivedBytes
    }),
  )
  expect(Math.max(...receivedCounts)).toBeLessThan(largeBody.length)
}, 40_000)

test.for([host, ...OTHER_HOSTS])(
  'on Kubernetes, the gateway redirects plain HTTP with any Host to the origin: %s',
  async (requestHost) => {
    for (const target of ['/', '/guides?q=a%22b', '//evil.example/guides', '/oauth/token'])
      for (const content of [{}, { method: 'POST', ...json({}) }]) {
        const response = await kubernetesGateway.plain.send(
          addHost({ path: target, ...content }, { host: requestHost }),
        )
        expect([response.status, response.headers.get('location'), response.text]).toEqual([
          308,
          origin + target,
          '',
        ])
        expect(response.headers.get('cache-control')).toBe('no-store')
        expect(response.headers.get('x-request-id')).toMatch(GENERATED_ID)
        // RFC 6797 section 7.2: no HSTS header over plain HTTP.
        expect(response.headers.get('strict-transport-security')).toBeNull()
        expect(response.headers.get('server')).toBeNull()
      }
  },
)

test('the gateway redirects a plain HTTP request for the public MCP server to the origin of that server', async () => {
  for (const url of ['/mcp', '/.well-known/oauth-authorization-server', '/oauth/token?x=1']) {
    const response = await kubernetesGateway.plain.send(
      addHost({ path: url }, { host: new URL(mcpPublicOrigin).host }),
    )
    expect([response.status, response.headers.get('location')]).toEqual([308, mcpPublicOrigin + url])
  }
})

test('over TLS, the gateway forwards the paths of the public MCP origin to the API, which serves only MCP there', async () => {
  const mcpHost = { host: new URL(mcpPublicOrigin).host }
  for (const target of [
    '/.well-known/oauth-authorization-server',
    '/oauth/token',
    '/auth.md',
    '/claim',
    '/',
  ]) {
    const response = await kubernetesGateway.secure.send(addHost({ path: target }, mcpHost))
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'text/plain; charset=utf-8',
    ])
    expect(response.text).toContain(`${mcpPublicOrigin}/mcp`)
  }
  const accept = 'application/json, text/event-stream'
  const list = { method: 'POST', path: '/mcp', ...json({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) }
  const toolList = await kubernetesGateway.secure.send(addHost(list, { ...mcpHost, accept }))
  expect([toolList.status, toolList.headers.get('www-authenticate')]).toEqual([200, null])
})

/** Headers that may differ between the responses of the gateway and an app. The gateway itself has no rate limits. */
const VARYING_HEADERS = new Set(['connection', 'date', 'keep-alive', 'ratelimit', 'ratelimit-policy'])
const omitVaryingHeaders = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => !VARYING_HEADERS.has(name)))

test.for([
  ['auth', '/api/agent/register'],
  ['auth', '/oauth/token'],
  ['resource', '/api/waitlist'],
  ['resource', '/api/waitlist?ref=%22'],
] as const)(
  'the gateway refuses a body over 64 KiB with the same response as %s: %s',
  async ([app, target]) => {
    const createRequest = (bytes: number) => {
      const type = target === '/oauth/token' ? 'application/x-www-form-urlencoded' : 'application/json'
      const headers = { 'content-type': type, 'x-request-id': REQUEST_ID }
      return addHost({ method: 'POST', path: target, body: 'x'.repeat(bytes), headers })
    }
    const gatewayResponse = await kubernetesGateway.secure.send(createRequest(100_000))
    expect([gatewayResponse.status, gatewayResponse.headers.get('x-request-id')]).toEqual([413, REQUEST_ID])
    expectSafeResponse(gatewayResponse, { origin })
    const appResponse = await sendToApp(app, createRequest(70_000))
    expect(gatewayResponse.text).toBe(appResponse.text)
    expect(omitVaryingHeaders(gatewayResponse.headers)).toEqual(omitVaryingHeaders(appResponse.headers))
  },
)

test('the gateway passes on the longest message that the contact form accepts in any script', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const longestMessage = '🙂'.repeat(5000)
  const body = new URLSearchParams({ topic: 'question', message: longestMessage }).toString()
  const response = await kubernetesGateway.secure.send(
    addHost({ method: 'POST', path: '/contact', body, headers }),
  )
  // The form lacks an address, so the app shows it again, with its text.
  expect(response.status).toBe(400)
  expect(response.text).toContain(longestMessage)
})

/** Requests, each with the app to which the gateway forwards it, and with the format of that app's errors on the path. */
const REQUESTS: [HttpRequest, AppName, ErrorFormat][] = [
  [{ path: '/oauth/jwks.json' }, 'auth', 'oauth'],
  [{ path: '/oauth/token' }, 'auth', 'oauth'],
  [{ path: '/.well-known/oauth-authorization-server' }, 'auth', 'problem'],
  [{ path: '/.well-known/openid-configuration' }, 'auth', 'problem'],
  [{ path: '/auth.md', method: 'HEAD' }, 'auth', 'problem'],
  [{ path: '/auth.md' }, 'auth', 'problem'],
  [{ path: '/claim' }, 'auth', 'problem'],
  [{ path: '/api/agent' }, 'auth', 'agent'],
  [{ path: '/api/agent/register' }, 'auth', 'agent'],
  [{ path: '/api/agent/register', method: 'POST', ...json({}) }, 'auth', 'agent'],
  [{ path: '/api/agents' }, 'resource', 'problem'],
  [{ path: '/api/guides?limit=1' }, 'resource', 'problem'],
  [{ path: '/api/gui%22des' }, 'resource', 'problem'],
  [{ path: '/api/waitlist', method: 'POST', ...json({}) }, 'resource', 'problem'],
  [{ path: '/' }, 'resource', 'problem'],
  [{ path: '/mcp' }, 'resource', 'oauth'],
  [{ path: '/mcp', method: 'POST', ...json({}) }, 'resource', 'oauth'],
]
const COMPARED_HEADERS = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'strict-transport-security',
]

test.concurrent.for(REQUESTS)(
  'while no app is available, the gateway refuses %o with the CORS and HSTS headers of %s, and in its error format',
  async ([request, app, format]) => {
    const response = await gatewayWithoutApps.secure.send(addHost(request, { 'x-request-id': REQUEST_ID }))
    expect([response.status, response.headers.get('x-request-id')]).toEqual([503, REQUEST_ID])
    expectSafeResponse(response, { origin, errorFormat: format, allowedFailureStatus: 503 })
    if (format !== 'oauth' && request.method !== 'HEAD')
      expect(JSON.parse(response.text)).toMatchObject({ instance: request.path.split('?')[0] })
    const appResponse = await sendToApp(app, addHost(request))
    for (const name of COMPARED_HEADERS)
      expect(response.headers.get(name), name).toBe(appResponse.headers.get(name))
  },
)

test.concurrent.for([
  ['12345678', true],
  ['x'.repeat(64), true],
  ['a.b_c-D9', true],
  ['1234567', false],
  ['x'.repeat(65), false],
  ['abcdefgh","code":"x', false],
  ['abcdefgh\\', false],
  ['{http.request.host}', false],
  ['abcdefgh\u00e9', false],
] as const)(
  'the gateway returns a request id that the apps accept, and otherwise generates one: %s',
  async ([requestId, isAccepted]) => {
    const request = addHost({ path: '/api/guides', headers: { 'x-request-id': requestId } })
    const [gatewayResponse, appResponse] = await Promise.all([
      gatewayWithoutApps.secure.send(request),
      sendToApp('resource', request),
    ])
    for (const { headers } of [gatewayResponse, appResponse])
      expect(headers.get('x-request-id')).toEqual(
        isAccepted ? requestId : expect.stringMatching(GENERATED_ID),
      )
    expectSafeResponse(gatewayResponse, { origin, errorFormat: 'problem', allowedFailureStatus: 503 })
  },
)

test('the errors of the gateway are valid JSON despite a folded request id and special characters in the path', async () => {
  const socket = connect({ host: '127.0.0.1', port: gatewayWithoutApps.httpsPort, ...gatewayWithoutApps.tls })
  // A header that continues on the next line (RFC 9112 section 5.2).
  const folded = 'X-Request-Id: abcdefgh\r\n ","code":"x\r\n'
  socket.write(`GET /api/guides HTTP/1.1\r\nHost: ${host}\r\n${folded}Connection: close\r\n\r\n`)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  const [, id] = /^x-request-id: (.*)$/im.exec(head) ?? []
  expect(id).toMatch(GENERATED_ID)
  expect(JSON.parse(body)).toMatchObject({ code: 'unavailable', request_id: id })

  for (const target of ['/a"b', '/a\\b', '/a[b]', '/a{b}{http.request.host}', '/a<b>?q="', '/%22%0A'])
    expect(JSON.parse((await gatewayWithoutApps.secure.send(addHost({ path: target }))).text)).toMatchObject({
      status: 503,
      code: 'unavailable',
    })
})
