import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { CONNECTION_COUNT, createLoadGenerator, saturate, saturateInTurns } from './closed-loop.ts'
import { openConnection } from './connection.ts'
import { sendAtRate } from './open-loop.ts'
import { readProcessorMs } from './processor-time.ts'
import { formatRequest, type Target } from './target.ts'

/** Starts a server in this process, and returns it as a target. Its processor time includes that of the load generator. */
async function serve(listener: RequestListener): Promise<Target & AsyncDisposable> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    pid: process.pid,
    next: () => formatRequest('GET', '/'),
    status: 200,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Keeps this process busy, so that it neither sends nor responds. */
function blockFor(ms: number): void {
  for (const deadline = performance.now() + ms; performance.now() < deadline; );
}

describe('the closed loop', () => {
  test('counts responses with the expected status, and the processor time', async () => {
    await using target = await serve((_request, response) => void response.end('fine'))
    const { perSecond, errors, processorMicros } = await saturate(target, 0.3)
    expect(errors).toBe(0)
    expect(perSecond).toBeGreaterThan(100)
    expect(processorMicros).toBeGreaterThan(0)
  })

  test('sends from the given addresses', async () => {
    const addresses = new Set<string | undefined>()
    await using target = await serve((request, response) => {
      addresses.add(request.socket.remoteAddress)
      response.end('fine')
    })
    using generator = createLoadGenerator(target, (index) =>
      openConnection(target.port, `127.1.0.${index + 1}`),
    )
    generator.start()
    await generator.stop()
    expect([...addresses].sort()).toEqual(
      Array.from({ length: CONNECTION_COUNT }, (_none, index) => `127.1.0.${index + 1}`).sort(),
    )
    expect(generator.getCounts()).toEqual({ expectedResponses: CONNECTION_COUNT, errors: 0 })
  })

  test('counts an unexpected status, and a lost connection, as an error', async () => {
    await using target = await serve((_request, response) => void response.writeHead(503).end())
    expect(await saturate(target, 0.1)).toMatchObject({ perSecond: 0 })
    expect((await saturate(target, 0.1)).errors).toBeGreaterThan(0)
    await using disconnecting = await serve((request) => void request.socket.destroy())
    expect((await saturate(disconnecting, 0.1)).errors).toBeGreaterThan(0)
  })
})

describe('saturating two targets in turns', () => {
  test('charges each target only for its own turns', async () => {
    await using fast = await serve((_request, response) => void response.end('fine'))
    await using slow = await serve((_request, response) => {
      blockFor(2)
      response.end('fine')
    })
    const msBefore = readProcessorMs(process.pid)
    const [fastCost, slowCost] = await saturateInTurns([fast, slow], 0.3)
    const spentMs = readProcessorMs(process.pid) - msBefore
    expect([fastCost.errors, slowCost.errors]).toEqual([0, 0])
    expect(fastCost.processorMicros).toBeLessThan(slowCost.processorMicros)
    expect(fastCost.expectedResponses).toBeGreaterThan(slowCost.expectedResponses)
    const measuredMs =
      (fastCost.processorMicros * fastCost.expectedResponses +
        slowCost.processorMicros * slowCost.expectedResponses) /
      1_000
    // The sum comes from quotients, so it can exceed the exact time by a rounding error.
    const ROUNDING_MS = 0.001
    expect(measuredMs).toBeLessThanOrEqual(spentMs + ROUNDING_MS)
  })

  test('counts an unexpected status as an error', async () => {
    await using fine = await serve((_request, response) => void response.end('fine'))
    await using failing = await serve((_request, response) => void response.writeHead(503).end())
    const [fineCost, failingCost] = await saturateInTurns([fine, failing], 0.1)
    expect(fineCost.errors).toBe(0)
    expect(failingCost).toMatchObject({ expectedResponses: 0 })
    expect(failingCost.errors).toBeGreaterThan(0)
  })
})

describe('the open loop', () => {
  test('measures latency from the time when a request was due, so a stall of the server raises the p99 too', async () => {
    const STALL_MS = 200
    let requestCount = 0
    await using target = await serve((_request, response) => {
      requestCount += 1
      // Blocks this process, which is also the load generator. Requests that are due during the stall are therefore sent
      // late, and must still count as slow.
      if (requestCount === 50) blockFor(STALL_MS)
      response.end('fine')
    })
    const { latency, errors, answered } = await sendAtRate(target, { rate: 500, seconds: 1 })
    expect(errors).toBe(0)
    // 500 are due on average. The number is random, but hardly ever this small.
    expect(answered).toBeGreaterThan(350)
    // Requests are due about every 2 ms, so the first one that is due during the stall waits for nearly all of it.
    expect(latency.most).toBeGreaterThan(STALL_MS * 0.9)
    // In a closed loop, only one request per connection would have waited. Here a fifth of all requests did.
    expect(latency.p99).toBeGreaterThan(STALL_MS / 2)
  })

  test('continues when the server closes its connections', async () => {
    await using target = await serve(
      (_request, response) => void response.setHeader('connection', 'close').end(),
    )
    const { errors, answered } = await sendAtRate(target, { rate: 200, seconds: 0.3 })
    expect(errors).toBe(0)
    expect(answered).toBeGreaterThan(0)
  })

  test('counts a request whose connection is lost as an error', async () => {
    await using target = await serve((request) => void request.socket.destroy())
    const { errors, answered } = await sendAtRate(target, { rate: 100, seconds: 0.2 })
    expect(answered).toBe(0)
    expect(errors).toBeGreaterThan(0)
  })
})

test('a connection rejects a second request in flight', async () => {
  await using target = await serve(() => {})
  using connection = openConnection(target.port)
  connection.send(formatRequest('GET', '/'), () => {})
  expect(() => connection.send(formatRequest('GET', '/'), () => {})).toThrow('one request at a time')
})
