import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { saturate, saturateInTurns } from './closed-loop.ts'
import { openConnection } from './connection.ts'
import { arrive } from './open-loop.ts'
import { processorMs } from './processor-time.ts'
import { requestBytes, type Target } from './target.ts'

async function serve(listener: RequestListener): Promise<Target & AsyncDisposable> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    pid: process.pid,
    next: () => requestBytes('GET', '/'),
    status: 200,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

describe('the closed loop', () => {
  test('counts right responses and processor time', async () => {
    await using target = await serve((_request, response) => void response.end('fine'))
    const { perSecond, errors, processorMicros } = await saturate(target, 0.3)
    expect(errors).toBe(0)
    expect(perSecond).toBeGreaterThan(100)
    expect(processorMicros).toBeGreaterThan(0)
  })

  test('counts another status, and a lost connection, as an error', async () => {
    await using target = await serve((_request, response) => void response.writeHead(503).end())
    expect(await saturate(target, 0.1)).toMatchObject({ perSecond: 0 })
    expect((await saturate(target, 0.1)).errors).toBeGreaterThan(0)
    await using cutting = await serve((request) => void request.socket.destroy())
    expect((await saturate(cutting, 0.1)).errors).toBeGreaterThan(0)
  })
})

describe('two targets in turns', () => {
  test('each have the processor time and the responses of their own turns', async () => {
    await using fast = await serve((_request, response) => void response.end('fine'))
    await using slow = await serve((_request, response) => {
      for (const deadline = performance.now() + 2; performance.now() < deadline; );
      response.end('fine')
    })
    const before = processorMs(process.pid)
    const [first, second] = await saturateInTurns([fast, slow], 0.3)
    const spentMs = processorMs(process.pid) - before
    expect([first.errors, second.errors]).toEqual([0, 0])
    expect(first.processorMicros).toBeLessThan(second.processorMicros)
    expect(first.answered).toBeGreaterThan(second.answered)
    const measuredMs =
      (first.processorMicros * first.answered + second.processorMicros * second.answered) / 1_000
    const ROUNDING_MS = 0.001
    expect(measuredMs).toBeLessThanOrEqual(spentMs + ROUNDING_MS)
  })

  test('count another status as an error', async () => {
    await using fine = await serve((_request, response) => void response.end('fine'))
    await using failing = await serve((_request, response) => void response.writeHead(503).end())
    const [first, second] = await saturateInTurns([fine, failing], 0.1)
    expect(first.errors).toBe(0)
    expect(second).toMatchObject({ answered: 0 })
    expect(second.errors).toBeGreaterThan(0)
  })
})

describe('the open loop', () => {
  test('measures from the time at which a request was due, so one stall of the server affects all due requests', async () => {
    const STOP_MS = 200
    let asked = 0
    await using target = await serve((_request, response) => {
      asked += 1
      // Blocks the whole process, like a server that computes.
      if (asked === 50) for (const deadline = performance.now() + STOP_MS; performance.now() < deadline; );
      response.end('fine')
    })
    const { latency, errors, answered } = await arrive(target, { rate: 500, seconds: 1 })
    expect(errors).toBe(0)
    expect(answered).toBeGreaterThan(350)
    expect(latency.most).toBeGreaterThan(STOP_MS * 0.9)
    // In a closed loop one request per connection would have waited; here a fifth of all requests did.
    expect(latency.p99).toBeGreaterThan(STOP_MS / 2)
  })

  test('continues when the server closes its connections', async () => {
    await using target = await serve(
      (_request, response) => void response.setHeader('connection', 'close').end(),
    )
    expect(await arrive(target, { rate: 200, seconds: 0.3 })).toMatchObject({ errors: 0 })
  })

  test('counts a request whose connection is lost as an error', async () => {
    await using target = await serve((request, response) => {
      if (request.url === '/never') request.socket.destroy()
      else response.end('fine')
    })
    const never = { ...target, next: () => requestBytes('GET', '/never') }
    const { errors, answered } = await arrive(never, { rate: 100, seconds: 0.2 })
    expect(answered).toBe(0)
    expect(errors).toBeGreaterThan(0)
  })
})

test('a connection rejects a second request in flight', async () => {
  await using target = await serve(() => {})
  using connection = openConnection(target.port)
  connection.send(requestBytes('GET', '/'), () => {})
  expect(() => connection.send(requestBytes('GET', '/'), () => {})).toThrow('one request at a time')
})
