import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { formatProblemUrl, getProblemKind, toOauthDescription, toOauthError } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SHIPPED, type ShippedGateway, startShippedGateway } from './shipped-gateway.ts'

const ROUNDS = 5
const CONCURRENCY = 30
/** The longest body that the gateway and the apps accept. */
const MAX_BYTES = 64 * 1024

/** A fake app instance that echoes request bodies, and can restart at the same port. */
interface Instance {
  readonly port: number
  /** The bodies that arrived in full. */
  readonly completedBodies: string[]
  /** The number of requests whose body was interrupted. */
  interruptedCount: number
  healthCheckCount: number
  stop(): Promise<void>
  restart(): Promise<void>
}

async function startInstance(): Promise<Instance> {
  let server: Server
  const listen = async (port: number) => {
    server = createServer((request, response) => {
      // After a stop, the gateway should find a closed port, not a kept-alive connection that ends mid-write.
      response.shouldKeepAlive = false
      if (request.method === 'GET') {
        instance.healthCheckCount += 1
        response.writeHead(204).end()
        return
      }
      text(request).then(
        (body) => {
          instance.completedBodies.push(body)
          response.end(body)
        },
        () => {
          instance.interruptedCount += 1
        },
      )
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const instance: Instance = {
    port: await listen(0),
    completedBodies: [],
    interruptedCount: 0,
    healthCheckCount: 0,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    async restart() {
      instance.healthCheckCount = 0
      await listen(instance.port)
      await expect.poll(() => instance.healthCheckCount).toBeGreaterThan(1)
    },
  }
  resources.defer(() => instance.stop().catch(() => undefined))
  return instance
}

const resources = new AsyncDisposableStack()
let instances: [Instance, Instance]
let gateway: ShippedGateway

beforeAll(async () => {
  instances = [await startInstance(), await startInstance()]
  const addresses = instances.map(({ port }) => `127.0.0.1:${port}`)
  gateway = resources.use(
    await startShippedGateway(SHIPPED.compose, { auth: addresses, resource: addresses }),
  )
})
afterAll(() => resources.disposeAsync())

const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
  gateway.plain.send({ method: 'POST', path: '/api/waitlist', body, headers })

test('F-18 a request that a crashed instance did not accept reaches another one, with its own body', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    // The longest has 58,000 bytes, which is within the limit.
    const bodies = Array.from({ length: CONCURRENCY }, (_, index) =>
      `${round}-${index}-`.padEnd(index * 2_000, 'x'),
    )
    await instances[0].stop()
    const responses = await Promise.all(bodies.map((body) => post(body)))
    expect(responses.map(({ status, text: body }) => ({ status, body }))).toEqual(
      bodies.map((body) => ({ status: 200, body })),
    )
    await instances[0].restart()
  }
})

test('the gateway ignores the body of a GET', async () => {
  const body = 'x'.repeat(MAX_BYTES + 1)
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
    expect((await gateway.plain.send({ path: '/api/guides', body, headers })).status).toBe(204)
})

const FRAMINGS = [
  ['of known length', {}],
  ['of unknown length', { 'transfer-encoding': 'chunked' }],
] as const

test.for(FRAMINGS)('the gateway forwards the longest body %s', async ([_description, headers]) => {
  // Each character has two bytes.
  const body = 'é'.repeat(MAX_BYTES / 2)
  expect(await post(body, headers)).toMatchObject({ status: 200, text: body })
})

const countCompleted = () => instances.flatMap(({ completedBodies }) => completedBodies).length

test.for(FRAMINGS)(
  'no instance mistakes the beginning of a body over the limit for the whole body: %s',
  async ([_description, headers]) => {
    const completedBefore = countCompleted()
    expect((await post('x'.repeat(MAX_BYTES + 1), headers)).status).toBe(413)
    expect((await post('the next one')).status).toBe(200)
    expect(countCompleted() - completedBefore).toBe(1)
  },
)

/** Posts raw lines to `/oauth/token` on a new connection. Returns the status, content type and body of the response. */
async function sendRawLines(...lines: readonly string[]) {
  const socket = connect(gateway.httpPort, '127.0.0.1')
  socket.end(['POST /oauth/token HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines].join('\r\n'))
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  // The head begins with `HTTP/1.1` and the status.
  return { status: Number(head.slice(9, 12)), type: /^content-type: (.*)$/im.exec(head)?.[1], body }
}

test('no instance takes a body of unknown length that ends in an invalid chunk for complete', async () => {
  const completedBefore = countCompleted()
  const { status } = await sendRawLines('Transfer-Encoding: chunked', '', '7', 'name=At', 'no number', '')
  expect(status).not.toBe(200)
  expect((await post('the next one')).status).toBe(200)
  expect(countCompleted() - completedBefore).toBe(1)
})

test('the gateway refuses a body shorter than its Content-Length as the apps would, and forwards it to no instance', async () => {
  const countsBefore = instances.map(({ completedBodies, interruptedCount }) => [
    completedBodies.length,
    interruptedCount,
  ])
  const { status, type, body } = await sendRawLines('Content-Length: 100', '', 'name=At')
  const { meaning, remedy, title } = getProblemKind('request-timeout')
  const detail = `${meaning} ${remedy}`
  expect([status, type, JSON.parse(body)]).toEqual([
    408,
    'application/problem+json',
    {
      type: formatProblemUrl(SHIPPED.compose['PLAINPATH_ORIGIN'] ?? '', 'request-timeout'),
      title,
      status: 408,
      detail,
      code: 'request-timeout',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error: toOauthError('request-timeout'),
      error_description: toOauthDescription(detail),
    },
  ])
  expect(
    instances.map(({ completedBodies, interruptedCount }) => [completedBodies.length, interruptedCount]),
  ).toEqual(countsBefore)
})
