import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expectSafeResponse } from '@plainpath/http/testing'
import { describe, expect, test } from 'vitest'
import { converse, formatRequest } from '../converse.ts'
import type { System } from './open-system.ts'

/** The servers, each with a path at which it reads a body. */
const gateway = { name: 'the gateway', url: ({ origin }: System) => origin, bodyPath: '/api/waitlist' }
const auth = {
  name: 'an auth process',
  url: ({ stack }: System) => `http://127.0.0.1:${stack.auth[1]?.ports.public}`,
  bodyPath: '/api/agent/register',
}
const resource = {
  name: 'an API process',
  url: ({ stack }: System) => `http://127.0.0.1:${stack.resource[1]?.ports.public}`,
  bodyPath: '/api/waitlist',
}
const SERVERS = [gateway, auth, resource] as const
const APPS = [auth, resource] as const

/** The time-outs of `server.ts` and the Caddyfile. Node checks them once a second. */
const HEADERS_MS = 10_000
const REQUEST_MS = { gateway: 18_000, app: 15_000 }
const IDLE_MS = { gateway: 30_000, app: 5_000 }
/** How much later than its time-out a connection may be closed, on a busy machine. */
const MAX_DELAY_MS = 4_000
/** The time after which the client closes a connection. Longer than every time-out above, with its delay. */
const GIVE_UP_MS = 40_000

/** Tests the limits of the servers: for time, for the size of headers, and for the number of connections. */
export function describeServerLimits(getSystem: () => System): void {
  const getHost = () => new URL(getSystem().origin).host

  describe.for(SERVERS)('$name', ({ url }) => {
    // Each request exceeds 16 KiB, the limit of `server.ts` and of the Caddyfile for the size of the headers.
    test.for([
      [
        '20 KiB in one header',
        () => formatRequest('GET /api/health', getHost(), [`X-A: ${'x'.repeat(20_480)}`]),
      ],
      [
        '2500 headers',
        () =>
          formatRequest(
            'GET /api/health',
            getHost(),
            Array.from({ length: 2_500 }, (_, index) => `X-${index}: aaaa`),
          ),
      ],
      ['a path of 20 KiB', () => formatRequest(`GET /${'x'.repeat(20_480)}`, getHost())],
    ] as const)('refuses %s, and serves the next request', async ([_description, formatBytes]) => {
      const { responses } = await converse(url(getSystem()), formatBytes())
      for (const { status } of responses) expect([400, 414, 431]).toContain(status)
      expect(
        (await converse(url(getSystem()), formatRequest('GET /oauth/jwks.json', getHost()), { responses: 1 }))
          .responses[0]?.status,
      ).toBeLessThan(500)
    })
  })

  describe.for(APPS)('$name', ({ url }) => {
    test('closes connections over the limit of 4096, serves the others, and accepts new ones afterwards', async () => {
      const system = getSystem()
      const serverUrl = url(system)
      /** The process behind the URL, for the port of its operations listener. */
      const app = [...system.stack.auth, ...system.stack.resource].find(({ ports }) =>
        serverUrl.endsWith(`:${ports.public}`),
      )
      const { sockets, countClosed } = await openIdleConnections(Number(new URL(serverUrl).port), 4_300)
      try {
        expect(countClosed()).toBeGreaterThanOrEqual(200)
        const liveness = await fetch(`http://127.0.0.1:${app?.ports.operations}/live`)
        expect(liveness.status).toBe(200)
        const connectedSocket = sockets.find((socket) => socket.readyState === 'open')
        connectedSocket?.write(formatRequest('GET /api/agent', getHost()))
        const [firstChunk] = (await once(connectedSocket!, 'data')) as [Buffer]
        expect(firstChunk.toString()).toMatch(/^HTTP\/1\.1 (401|404) /)
      } finally {
        for (const socket of sockets) socket.destroy()
      }
      const countResponses = async () => {
        const { responses } = await converse(serverUrl, formatRequest('GET /api/agent', getHost()), {
          responses: 1,
        })
        for (const response of responses) expectSafeResponse(response, { origin: system.origin })
        return responses.length
      }
      await expect.poll(countResponses, { timeout: 5_000 }).toBe(1)
    })
  })

  // These tests mostly wait for time-outs, so they run concurrently, also with those of `describeSlowClients`, which follows. That
  // attacks the other process of each app, but the same gateway.
  describe.concurrent.for(SERVERS)('$name ends a connection', ({ url, name, bodyPath }) => {
    test('with headers that never end, after 10 s', async () => {
      // Without its last line break, the request lacks the empty line that ends the headers.
      const { responses, closed, ms } = await trickle(
        url(getSystem()),
        formatRequest('GET /api/health', getHost()).slice(0, -2),
        'X-A: b\r\n',
      )
      expect(closed).toBe(true)
      expect(ms).toBeGreaterThan(HEADERS_MS - 1_000)
      expect(ms).toBeLessThan(HEADERS_MS + MAX_DELAY_MS)
      if (name !== gateway.name) expect(responses.map(({ status }) => status)).toEqual([408])
    })

    test.for([
      ['of a known length', 'Content-Length: 100', ' '],
      ['without a length', 'Transfer-Encoding: chunked', '1\r\n \r\n'],
    ] as const)(
      'whose body never ends, with the status 408: %s',
      async ([_description, framing, fewBytes]) => {
        const body = ['Content-Type: application/json', framing]
        const unfinishedRequest = formatRequest(`POST ${bodyPath}`, getHost(), body)
        const { responses, closed, ms } = await trickle(url(getSystem()), unfinishedRequest, fewBytes)
        expect(closed).toBe(true)
        expect(ms).toBeLessThan((name === gateway.name ? REQUEST_MS.gateway : REQUEST_MS.app) + MAX_DELAY_MS)
        expect(responses.map(({ status }) => status)).toEqual([408])
      },
    )

    test('that is idle after its first request, after the idle time-out', async () => {
      const { responses, closed, ms } = await converse(
        url(getSystem()),
        formatRequest('GET /api/health', getHost()),
        {
          forMs: GIVE_UP_MS,
        },
      )
      expect([responses.length, closed]).toEqual([1, true])
      const idleMs = name === gateway.name ? IDLE_MS.gateway : IDLE_MS.app
      expect(ms).toBeGreaterThan(idleMs - 1_000)
      expect(ms).toBeLessThan(idleMs + MAX_DELAY_MS)
    })
  })
}

/**
 * Sends the beginning of a request, and then a few bytes each second, until the server closes the connection, or for
 * `GIVE_UP_MS`.
 *
 * @returns the statuses of the responses, whether the server closed the connection, and the time until the end of the connection
 */
async function trickle(url: string, beginning: string, fewBytes: string) {
  const startedAt = performance.now()
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname === 'localhost' ? '127.0.0.1' : hostname)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  // Writing to a closed connection can cause a reset. The event `close` follows.
  socket.on('error', () => undefined)
  socket.write(beginning)
  const dripTimer = setInterval(() => socket.write(fewBytes), 1_000)
  // oxlint-disable-next-line no-restricted-globals -- bounds the wait for the end
  const giveUpTimer = setTimeout(() => socket.destroy(), GIVE_UP_MS)
  await once(socket, 'close')
  clearInterval(dripTimer)
  clearTimeout(giveUpTimer)
  const ms = performance.now() - startedAt
  const statuses = [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => ({
    status: Number(status),
  }))
  return { responses: statuses, closed: ms < GIVE_UP_MS, ms }
}

/** Opens idle connections. Returns them, and a function that counts those that the server has closed. */
async function openIdleConnections(port: number, count: number) {
  let closedCount = 0
  const sockets: Socket[] = []
  for (let openedCount = 0; openedCount < count; openedCount += 100) {
    const batch = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'))
    for (const socket of batch) {
      socket.on('error', () => undefined)
      socket.once('close', () => {
        closedCount += 1
      })
    }
    sockets.push(...batch)
    // The server may reset a connection over the limit before its event `connect`.
    await Promise.all(batch.map((socket) => once(socket, 'connect').catch(() => undefined)))
  }
  // The server closes excess connections a moment after they open.
  await expect.poll(() => closedCount, { timeout: 3_000 }).toBeGreaterThanOrEqual(count - 4_100)
  return { sockets, countClosed: () => closedCount }
}
