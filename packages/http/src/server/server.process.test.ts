import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import { type ServeOptions, serve } from './server.ts'

/** A server that waits for a connection during its disposal takes 5 s: `drainSeconds`, or the default `keepAliveTimeout`. */
const OPTIONS: ServeOptions = { port: 0, host: '127.0.0.1', drainSeconds: 5 }
const GET = formatHead('GET / HTTP/1.1', 'Host: h')

/** Creates a handler that responds to no request until the test calls `respond`. `arrival` resolves at the first request. */
function createHoldingHandler() {
  const heldResponses: ServerResponse[] = []
  const { promise: arrival, resolve } = Promise.withResolvers<void>()
  return {
    arrival,
    handler(_request: IncomingMessage, response: ServerResponse) {
      heldResponses.push(response)
      resolve()
    },
    respond() {
      for (const response of heldResponses) response.end('late')
    },
  }
}

const get = (url: string, agent?: Agent) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request(url, agent ? { agent } : {}, (response) => resolve(response.resume()))
      .on('error', reject)
      .end()
  })

test('listens on a free port and reports it', async () => {
  await using server = await serve((_request, response) => response.end('here'), OPTIONS)
  expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  expect(await (await fetch(server.url)).text()).toBe('here')
})

test('reports a valid URL for an IPv6 address', async () => {
  await using server = await serve((_request, response) => response.end('here'), {
    ...OPTIONS,
    host: '::1',
  })
  expect(server.url).toBe(`http://[::1]:${server.port}`)
  expect((await fetch(server.url)).status).toBe(200)
})

test('throws EADDRINUSE for a port in use', async () => {
  await using server = await serve(() => {}, OPTIONS)
  await expect(serve(() => {}, { ...OPTIONS, port: server.port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  })
})

test('closes every connection after its response once keep-alive is disabled', async () => {
  const { handler, arrival, respond } = createHoldingHandler()
  let isHolding = true
  await using server = await serve(
    (incoming, response) => (isHolding ? handler(incoming, response) : response.end('at once')),
    OPTIONS,
  )
  const agent = new Agent({ keepAlive: true })
  const heldResponse = get(server.url, agent)
  await arrival
  server.disableKeepAlive()
  isHolding = false
  respond()
  expect((await heldResponse).headers.connection).toBe('close')
  expect((await get(server.url, agent)).headers.connection).toBe('close')
  agent.destroy()
})

describe('a disposed server', () => {
  test('completes the request in flight, and closes its connection', async () => {
    const { handler, arrival, respond } = createHoldingHandler()
    const server = await serve(handler, OPTIONS)
    const agent = new Agent({ keepAlive: true })
    const responsePromise = get(server.url, agent)
    await arrival
    const disposal = server[Symbol.asyncDispose]()
    respond()
    const { statusCode, headers } = await responsePromise
    expect([statusCode, headers.connection]).toEqual([200, 'close'])
    await disposal
    agent.destroy()
  })

  test('does not wait for idle connections, and accepts no new one', async () => {
    const server = await serve((_request, response) => response.end('here'), OPTIONS)
    const agent = new Agent({ keepAlive: true })
    await get(server.url, agent)
    const startedAt = performance.now()
    await server[Symbol.asyncDispose]()
    expect(performance.now() - startedAt).toBeLessThan(4_000)
    await expect(get(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    agent.destroy()
  })

  test('does not wait 5 s for a connection that becomes idle during the drain', async () => {
    const { promise: arrival, resolve: arrive } = Promise.withResolvers<void>()
    let finish = () => {}
    const server = await serve((_request, response) => {
      // The head is sent already, so it cannot say that the connection will close.
      response.writeHead(200, { 'content-length': '4' }).write('la')
      finish = () => response.end('te')
      arrive()
    }, OPTIONS)
    const socket = connect(server.port, '127.0.0.1').on('data', () => {})
    socket.write(GET)
    await arrival
    const startedAt = performance.now()
    const disposal = server[Symbol.asyncDispose]()
    finish()
    await disposal
    expect(performance.now() - startedAt).toBeLessThan(4_000)
    socket.destroy()
  })

  test('closes the connection of a request that takes too long', async () => {
    const { handler, arrival } = createHoldingHandler()
    const server = await serve(handler, { ...OPTIONS, drainSeconds: 0.1 })
    const responsePromise = get(server.url)
    const outcome = responsePromise.catch((error: unknown) => error)
    await arrival
    const startedAt = performance.now()
    await server[Symbol.asyncDispose]()
    // The drain lasts 100 ms, less a tolerance for imprecise timers.
    expect(performance.now() - startedAt).toBeGreaterThan(90)
    expect(await outcome).toMatchObject({ code: 'ECONNRESET' })
  })

  test('can be disposed of repeatedly', async () => {
    const server = await serve(() => {}, OPTIONS)
    await Promise.all([server[Symbol.asyncDispose](), server[Symbol.asyncDispose]()])
    await expect(server[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })

  test('completes a held request while a handler responds synchronously during the drain', async () => {
    const { promise: arrival, resolve: arrive } = Promise.withResolvers<void>()
    const heldResponses: ServerResponse[] = []
    const server = await serve((incoming, response) => {
      if (incoming.url === '/held') {
        heldResponses.push(response)
        arrive()
      } else response.end('at once')
    }, OPTIONS)
    const socket = connect(server.port, '127.0.0.1').setEncoding('latin1')
    let receivedText = ''
    socket.on('data', (chunk: string) => {
      receivedText += chunk
    })
    socket.write(formatHead('GET /held HTTP/1.1', 'Host: h'))
    await arrival
    const disposal = server[Symbol.asyncDispose]()
    socket.write(GET)
    heldResponses[0]?.end('held')
    await disposal
    await once(socket, 'close')
    expect(receivedText).toContain('held')
  })
})

describe('a server closes', () => {
  /** The limits of the server in milliseconds, so short that a test can wait for them. */
  const SHORT_LIMITS = {
    headersTimeout: 150,
    requestTimeout: 300,
    keepAliveTimeout: 100,
    connectionsCheckingInterval: 30,
  }
  const startServer = (limits: ServeOptions['limits'] = SHORT_LIMITS) =>
    serve((incoming, response) => void incoming.resume().on('end', () => response.end('read')), {
      ...OPTIONS,
      limits: { ...SHORT_LIMITS, ...limits },
    })

  // In the next two tests, `requestTimeout` is too long to close the connection, so `headersTimeout` does.
  test('a connection that sends nothing', async () => {
    await using server = await startServer({ requestTimeout: 60_000 })
    expect(await converse(server.port, '')).toMatchObject({ closed: true })
  })

  test('a connection whose headers never end', async () => {
    await using server = await startServer({ requestTimeout: 60_000 })
    const { responses, closed } = await converse(server.port, 'GET / HTTP/1.1\r\nHost: h\r\nX-Slow: 1\r\n')
    expect(closed).toBe(true)
    expect(responses.map(({ status }) => status)).toEqual([408])
    expect(JSON.parse(responses[0]?.body ?? '')).toMatchObject({ code: 'request-timeout', status: 408 })
  })

  test('a connection whose body never ends', async () => {
    await using server = await startServer()
    const { responses, closed } = await converse(
      server.port,
      `${formatHead('POST / HTTP/1.1', 'Host: h', 'Content-Length: 10')}12345`,
    )
    expect(closed).toBe(true)
    expect(responses.map(({ status }) => status)).toEqual([408])
  })

  test('a connection that stays idle after a request', async () => {
    await using server = await startServer()
    const { responses, closed } = await converse(server.port, GET)
    expect(closed).toBe(true)
    expect(responses.map(({ status }) => status)).toEqual([200])
  })

  test('a connection whose response is not read', async () => {
    const { promise: cutOffPromise, resolve } = Promise.withResolvers<boolean>()
    // The response is larger than the buffers of both sockets.
    await using server = await serve(
      (_request, response) =>
        response.on('close', () => resolve(!response.writableFinished)).end(Buffer.alloc(50_000_000)),
      { ...OPTIONS, limits: { ...SHORT_LIMITS, timeout: 300 } },
    )
    const socket = connect(server.port, '127.0.0.1').pause()
    socket.write(GET)
    expect(await cutOffPromise).toBe(true)
    socket.destroy()
  })

  test('connections beyond the maximum', async () => {
    await using server = await startServer({
      maxConnections: 2,
      headersTimeout: 5_000,
      requestTimeout: 5_000,
    })
    const sockets = [1, 2].map(() => connect(server.port, '127.0.0.1'))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    // A connection counts once the server has accepted it, which its first response proves.
    for (const socket of sockets) {
      socket.write(GET)
      await once(socket, 'data')
    }
    expect(await converse(server.port, GET)).toEqual({ responses: [], closed: true })
    const [firstSocket] = sockets
    firstSocket?.destroy()
    await expect
      .poll(async () => (await converse(server.port, GET, { responses: 1 })).responses.length)
      .toBe(1)
    for (const socket of sockets) socket.destroy()
  })

  test('a connection after its maximum number of requests', async () => {
    await using server = await startServer({ maxRequestsPerSocket: 2 })
    const { responses } = await converse(server.port, GET.repeat(3))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 503])
    expect(responses[1]?.headers['connection']).toBe('close')
  })
})

test('drains and exits on SIGTERM and SIGINT', async () => {
  const program = `
    import { serve, waitForShutdownSignal } from '${fileURLToPath(new URL('../index.ts', import.meta.url))}'
    {
      await using server = await serve((_, response) => response.end(), { port: 0, host: '127.0.0.1', drainSeconds: 1 })
      const receivedSignal = waitForShutdownSignal()
      console.log('ready')
      console.log(await receivedSignal)
    }
    console.log('drained')`
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
    const output: string[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.push(text)
      if (text.includes('ready')) child.kill(signal)
    })
    const [code] = (await once(child, 'close')) as [number | null]
    expect(output.join('')).toBe(`ready\n${signal}\ndrained\n`)
    expect(code).toBe(0)
  }
})
