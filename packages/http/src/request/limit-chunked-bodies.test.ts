import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { converse, formatHead } from '../../test/raw-http.ts'
import { type Service, startService } from '../../test/start-service.ts'
import { defineRoute } from '../routing/route.ts'

const MAX_PER_ADDRESS = 8
const ADDRESS = '192.0.2.1'
const OTHER_ADDRESS = '192.0.2.2'

const echoRoute = defineRoute({
  method: 'post',
  path: '/echo',
  operationId: 'echo',
  summary: 'Returns the body of the request',
  access: 'open',
  limits: {},
  request: { body: z.looseObject({}) },
  responses: { 200: z.looseObject({}) },
  handle: ({ body }) => ({ status: 200, body }),
})

const formatEchoHead = (address: string, framing: string) =>
  formatHead(
    'POST /echo HTTP/1.1',
    'Host: h',
    `X-Forwarded-For: ${address}`,
    'Content-Type: application/json',
    framing,
  )
const CHUNKED = 'Transfer-Encoding: chunked'

/** A request whose chunked body has begun. */
interface UnfinishedRequest {
  readonly socket: Socket
  /** Returns what the server has sent. */
  received(): string
}

const resources = new AsyncDisposableStack()
/** Its requests do not time out during a test. */
let service: Service
let openSockets: Socket[] = []
/** The number of requests whose response is closed, also because the client has gone. */
let closedCount = 0
const start = (requestTimeout: number) =>
  startService({
    routes: [echoRoute],
    use: [
      async (ctx, next) => {
        ctx.res.once('close', () => (closedCount += 1))
        // Bodies that were sent with their head arrive meanwhile, as they do while Redis counts a request against its limits.
        await nextTurn()
        await next()
      },
    ],
    trustedProxies: '127.0.0.1',
    serve: { limits: { requestTimeout, headersTimeout: requestTimeout, connectionsCheckingInterval: 50 } },
  })
beforeAll(async () => {
  service = resources.use(await start(120_000))
})
afterEach(() => {
  for (const socket of openSockets) socket.destroy()
  openSockets = []
})
afterAll(() => resources.disposeAsync())

async function beginBody(address: string, { port } = service): Promise<UnfinishedRequest> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  openSockets.push(socket)
  let text = ''
  socket.on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`${formatEchoHead(address, CHUNKED)}1\r\n{\r\n`)
  return { socket, received: () => text }
}

/** Begins one body more than `maximum`, one for each address, and waits until one is refused. Returns the other requests. */
async function fill(maximum: number, createAddress: (index: number) => string): Promise<UnfinishedRequest[]> {
  const requests: UnfinishedRequest[] = []
  for (let index = 0; index <= maximum; index += 1) requests.push(await beginBody(createAddress(index)))
  await expect.poll(() => requests.filter(({ received }) => received() !== '')).toHaveLength(1)
  return requests.filter(({ received }) => received() === '')
}

/** Ends the bodies, and checks that each request succeeds. */
async function finish(requests: readonly UnfinishedRequest[]): Promise<void> {
  for (const { socket } of requests) socket.write('1\r\n}\r\n0\r\n\r\n')
  await expectStatuses(requests, 200)
}

const expectStatuses = (requests: readonly UnfinishedRequest[], status: number) =>
  expect
    .poll(() => requests.map(({ received }) => Number(received().slice('HTTP/1.1 '.length).slice(0, 3))))
    .toEqual(Array<number>(requests.length).fill(status))

/** Checks that the address has no body that is still counted. */
const expectNoneCounted = async () => finish(await fill(MAX_PER_ADDRESS, () => ADDRESS))

const sendWhole = async (address: string, framing: string, body: string) => {
  const { responses } = await converse(service.port, formatEchoHead(address, framing) + body, {
    responses: 1,
  })
  return responses[0]?.status
}

test('beyond 8 unfinished chunked bodies, an address is refused at once, until the bodies have ended', async () => {
  const requests = await fill(MAX_PER_ADDRESS, () => ADDRESS)
  const refusal = await beginBody(ADDRESS)
  await once(refusal.socket, 'end')
  expect(refusal.received()).toMatch(/^HTTP\/1\.1 429 /)
  expect(refusal.received()).toMatch(/^retry-after: 1\r$/im)
  expect(refusal.received()).toMatch(/^connection: close\r$/im)
  expect(refusal.received()).toContain('"code":"rate-limited"')
  await finish(requests)
  await expectNoneCounted()
})

test('meanwhile, other addresses are served, and bodies with a length or that have arrived in full', async () => {
  const requests = await fill(MAX_PER_ADDRESS, () => ADDRESS)
  await finish(await fill(MAX_PER_ADDRESS, () => OTHER_ADDRESS))
  for (let count = 0; count < 3; count += 1) {
    expect(await sendWhole(ADDRESS, 'Content-Length: 2', '{}')).toBe(200)
    expect(await sendWhole(ADDRESS, CHUNKED, '2\r\n{}\r\n0\r\n\r\n')).toBe(200)
  }
  await finish(requests)
})

test.for([
  { network: 'an IPv6 /64', maximum: 8, createAddress: (index: number) => `2001:db8::${index}` },
  // Each address is in another /64.
  { network: 'an IPv6 /48', maximum: 32, createAddress: (index: number) => `2001:db8:0:${index}::1` },
  // Each address has four bodies, and the last one has one.
  { network: 'a process', maximum: 256, createAddress: (index: number) => `198.51.100.${index >> 2}` },
])('$network may have $maximum at the same time', async ({ maximum, createAddress }) => {
  for (let round = 0; round < 2; round += 1) {
    const requests = await fill(maximum, createAddress)
    expect(requests).toHaveLength(maximum)
    await finish(requests)
  }
})

describe('a body is no longer counted', () => {
  const begin = (target: Service) =>
    Promise.all(Array.from({ length: MAX_PER_ADDRESS }, () => beginBody(ADDRESS, target)))

  test('after its client has gone', async () => {
    const requests = await fill(MAX_PER_ADDRESS, () => ADDRESS)
    const closedBefore = closedCount
    for (const { socket } of requests) socket.destroy()
    await expect.poll(() => closedCount - closedBefore).toBe(MAX_PER_ADDRESS)
    await expectNoneCounted()
  })

  test('after it was refused as too large', async () => {
    const requests = await begin(service)
    for (const { socket } of requests) socket.write(`10001\r\n${'x'.repeat(0x10001)}\r\n`)
    await expectStatuses(requests, 413)
    await expectNoneCounted()
  })

  test('after its request has timed out', async () => {
    await using impatientService = await start(100)
    await expectStatuses(await begin(impatientService), 408)
    await expectNoneCounted()
  })
})
