import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { oauthDescription, oauthError, problemKind, problemUrl } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SHIPPED, type ShippedGateway, startShippedGateway } from './shipped-gateway.ts'

const ROUNDS = 5
const AT_ONCE = 30
const OVER_THE_CAP = 20_000

/** An instance that responds with the body of the request, and can stop and start again at its port. */
interface Instance {
  readonly port: number
  /** The bodies that were complete. */
  readonly whole: string[]
  /** The number of interrupted requests. */
  broken: number
  checks: number
  go(): Promise<void>
  comeBack(): Promise<void>
}

async function startInstance(): Promise<Instance> {
  let server: Server
  const listen = async (port: number) => {
    server = createServer((request, response) => {
      // The gateway should find a closed port, not a connection that ends while it writes.
      response.shouldKeepAlive = false
      if (request.method === 'GET') {
        instance.checks += 1
        response.writeHead(204).end()
        return
      }
      text(request).then(
        (body) => {
          instance.whole.push(body)
          response.end(body)
        },
        () => {
          instance.broken += 1
        },
      )
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const instance: Instance = {
    port: await listen(0),
    whole: [],
    broken: 0,
    checks: 0,
    async go() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    async comeBack() {
      instance.checks = 0
      await listen(instance.port)
      await expect.poll(() => instance.checks).toBeGreaterThan(1)
    },
  }
  resources.defer(() => instance.go().catch(() => undefined))
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

test('F-18 sends requests that a crashed instance did not accept to another one, each with its own body', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const bodies = Array.from({ length: AT_ONCE }, (_, n) => `${round}-${n}-`.padEnd(n * 500, 'x'))
    await instances[0].go()
    const responses = await Promise.all(bodies.map((body) => post(body)))
    expect(responses.map(({ status, text: body }) => ({ status, body }))).toEqual(
      bodies.map((body) => ({ status: 200, body })),
    )
    await instances[0].comeBack()
  }
})

test('ignores the body of a GET', async () => {
  const body = 'x'.repeat(OVER_THE_CAP)
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
    expect((await gateway.plain.send({ path: '/api/guides', body, headers })).status).toBe(204)
})

test('passes a body without a length through', async () => {
  const body = 'é'.repeat(8_000)
  expect(await post(body, { 'transfer-encoding': 'chunked' })).toMatchObject({ status: 200, text: body })
})

const seen = () => instances.flatMap(({ whole }) => whole).length

test.for([
  ['of a known length', {}],
  ['without a length', { 'transfer-encoding': 'chunked' }],
] as const)(
  'no instance takes the beginning of a body over the cap for the whole: %s',
  async ([_which, headers]) => {
    const before = seen()
    expect((await post('x'.repeat(OVER_THE_CAP), headers)).status).toBe(413)
    expect((await post('the next one')).status).toBe(200)
    expect(seen() - before).toBe(1)
  },
)

/** Sends the pieces on a connection of its own, and reads status, content type and body of the response. */
async function sendPieces(...pieces: readonly string[]) {
  const socket = connect(gateway.httpPort, '127.0.0.1')
  socket.end(['POST /oauth/token HTTP/1.1', 'Host: localhost', 'Connection: close', ...pieces].join('\r\n'))
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), type: /^content-type: (.*)$/im.exec(head)?.[1], body }
}

test('does not let an instance accept an interrupted body without a length as complete', async () => {
  const before = seen()
  const { status } = await sendPieces('Transfer-Encoding: chunked', '', '7', 'name=At', 'no number', '')
  expect(status).not.toBe(200)
  expect((await post('the next one')).status).toBe(200)
  expect(seen() - before).toBe(1)
})

test('refuses a body that is shorter than its length like the apps, and sends it to no instance', async () => {
  const before = instances.map(({ whole, broken }) => [whole.length, broken])
  const { status, type, body } = await sendPieces('Content-Length: 100', '', 'name=At')
  const { meaning, remedy, title } = problemKind('request-timeout')
  const detail = `${meaning} ${remedy}`
  expect([status, type, JSON.parse(body)]).toEqual([
    408,
    'application/problem+json',
    {
      type: problemUrl(SHIPPED.compose['PLAINPATH_ORIGIN'] ?? '', 'request-timeout'),
      title,
      status: 408,
      detail,
      code: 'request-timeout',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error: oauthError('request-timeout'),
      error_description: oauthDescription(detail),
    },
  ])
  expect(instances.map(({ whole, broken }) => [whole.length, broken])).toEqual(before)
})
