import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { expect, test } from 'vitest'
import { createAuthorizationServerClient, KEY_SET_PATH } from './authorization-server-client.ts'

const anyPortOptions = { port: 0, host: '127.0.0.1', drainSeconds: 0 }
const newSignal = () => AbortSignal.timeout(10_000)

/** Starts a server that responds with its name, and records the requested paths. */
async function startInstance(name: string, port = 0) {
  const paths: string[] = []
  const handler: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    response.end(name)
  }
  const server: RunningServer = await serve(handler, { ...anyPortOptions, port })
  return { ...server, paths, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('sends requests to all instances in turn', async () => {
  await using first = await startInstance('first')
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  for (let n = 0; n < 6; n += 1) await request('/a', { signal: newSignal() })
  expect([first.paths.length, second.paths.length]).toEqual([3, 3])
})

test('sends fewer requests to a slow instance', async () => {
  const delayedResponses: (() => void)[] = []
  const respondLater: RequestHandler = (_request, response) =>
    void delayedResponses.push(() => response.end('slow'))
  await using first = await serve(respondLater, anyPortOptions)
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  const pendingResponses = [request('/a', { signal: newSignal() }), request('/a', { signal: newSignal() })]
  await expect.poll(() => [delayedResponses.length, second.paths.length]).toEqual([1, 1])
  for (let n = 0; n < 6; n += 1) expect((await request('/b', { signal: newSignal() })).text).toBe('second')
  delayedResponses[0]?.()
  const texts = (await Promise.all(pendingResponses)).map(({ text }) => text)
  expect([texts.toSorted(), delayedResponses.length]).toEqual([['second', 'slow'], 1])
})

test('skips an unavailable instance, and uses it again once a probe succeeds', async () => {
  const first = await startInstance('first')
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  const requestTwice = async () => {
    const texts: string[] = []
    for (let n = 0; n < 2; n += 1) texts.push((await request('/a', { signal: newSignal() })).text)
    return texts.toSorted()
  }
  expect(await requestTwice()).toEqual(['first', 'second'])
  await first[Symbol.asyncDispose]()
  expect(await requestTwice()).toEqual(['second', 'second'])
  await using restarted = await startInstance('first', first.port)
  await expect.poll(requestTwice).toEqual(['first', 'second'])
  expect(restarted.paths).toContain(KEY_SET_PATH)
})

test('probes an instance every 250 ms while it responds with 503, and sends it nothing else', async () => {
  let now = 0
  const first = await startInstance('first')
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([first.url, second.url], { now: () => now })
  await first[Symbol.asyncDispose]()
  for (let n = 0; n < 2; n += 1) expect((await request('/a', { signal: newSignal() })).text).toBe('second')
  const paths: string[] = []
  const refuse: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    response.writeHead(503).end()
  }
  await using _unready = await serve(refuse, { ...anyPortOptions, port: first.port })
  for (const expectedProbes of [1, 2, 3]) {
    now += 250
    /** Counts the probes so far. Sends a request first, because only a request starts a probe that is due. */
    const countProbes = async () => {
      expect((await request('/a', { signal: newSignal() })).text).toBe('second')
      return paths.length
    }
    await expect.poll(countProbes).toBe(expectedProbes)
    // Further requests at the same time start no further probe.
    for (let times = 0; times < 20; times += 1) expect(await countProbes()).toBe(expectedProbes)
  }
  expect(new Set(paths)).toEqual(new Set([KEY_SET_PATH]))
})

const CONNECTION_LOSSES: [string, RequestHandler][] = [
  ['before a response', (request) => request.socket.destroy()],
  [
    'in the middle of a response',
    (request, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => request.socket.destroy())
    },
  ],
]

test.for(CONNECTION_LOSSES)(
  'sends a request to another instance if the connection is lost %s',
  async ([, loseConnection]) => {
    await using broken = await serve(loseConnection, anyPortOptions)
    await using second = await startInstance('second')
    const request = createAuthorizationServerClient([broken.url, second.url])
    for (let n = 0; n < 2; n += 1) expect((await request('/a', { signal: newSignal() })).text).toBe('second')
  },
)

test('does not repeat a request after a 500, and keeps using the instance', async () => {
  await using faulty = await serve((_request, response) => response.writeHead(500).end(), anyPortOptions)
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([faulty.url, second.url])
  const statuses: number[] = []
  for (let n = 0; n < 4; n += 1) statuses.push((await request('/a', { signal: newSignal() })).status)
  expect([statuses.toSorted(), second.paths]).toEqual([
    [200, 200, 500, 500],
    ['/a', '/a'],
  ])
})

test('skips an instance for later requests after a request to it timed out', async () => {
  await using silent = await serve(() => undefined, anyPortOptions)
  await using second = await startInstance('second')
  const request = createAuthorizationServerClient([silent.url, second.url])
  const requestWithinSecond = async () => {
    const [outcome] = await Promise.allSettled([request('/a', { signal: AbortSignal.timeout(1_000) })])
    return outcome.status === 'fulfilled' ? outcome.value.text : outcome.reason.name
  }
  const outcomes = [await requestWithinSecond(), await requestWithinSecond()]
  expect(outcomes.toSorted()).toEqual(['TimeoutError', 'second'])
  for (let n = 0; n < 4; n += 1) expect((await request('/b', { signal: newSignal() })).text).toBe('second')
})

test('skips an instance after a 503, and tries it less often while it responds only to probes', async () => {
  let requestCount = 0
  let keySetRequestCount = 0
  let status = 503
  let now = 0
  const handler: RequestHandler = (incoming, response) => {
    if (incoming.url === KEY_SET_PATH) keySetRequestCount += 1
    else requestCount += 1
    response.writeHead(incoming.url === KEY_SET_PATH ? 200 : status).end('failing')
  }
  await using failing = await serve(handler, anyPortOptions)
  await using healthy = await startInstance('healthy')
  const request = createAuthorizationServerClient([failing.url, healthy.url], { now: () => now })
  const advanceAndRequest = async (ms = 250) => {
    now += ms
    // Requests go to the available instances in turn, so two requests reach both.
    for (let times = 0; times < 2; times += 1) await request(KEY_SET_PATH, { signal: newSignal() })
    return (await request('/a', { signal: newSignal() })).text
  }
  // One minute in steps of 250 ms. Pauses that double up to 8 s leave room for about a dozen requests to `/a`.
  for (let n = 0; n < 240; n += 1) expect(await advanceAndRequest()).toBe('healthy')
  expect(requestCount).toBeGreaterThan(3)
  expect(requestCount).toBeLessThan(18)
  status = 200
  await expect.poll(() => advanceAndRequest(8_000)).toBe('failing')
  status = 503
  const requestCountBefore = requestCount
  const keySetRequestCountBefore = keySetRequestCount
  const requestAndGetCount = async () => {
    expect((await request('/a', { signal: newSignal() })).text).toBe('healthy')
    return requestCount
  }
  await expect.poll(requestAndGetCount).toBe(requestCountBefore + 1)
  await expect.poll(requestAndGetCount).toBe(requestCountBefore + 2)
  // The only request for the key set was the probe between the two.
  expect(keySetRequestCount).toBe(keySetRequestCountBefore + 1)
})

test('does not mark an instance as unavailable if an earlier instance used up the time of the request', async () => {
  const paths: string[] = []
  const handler: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    if (paths.length > 1) response.end('healthy')
  }
  await using slow = await serve(handler, anyPortOptions)
  await using failing = await serve((_request, response) => response.writeHead(503).end(), anyPortOptions)
  const request = createAuthorizationServerClient([slow.url, failing.url])
  // These requests are sent to no instance, because their signal is already aborted.
  const aborted = { signal: AbortSignal.abort(new RangeError('over')) }
  for (let times = 0; times < 3; times += 1) await expect(request('/none', aborted)).rejects.toThrow('over')
  // The client tries `failing` first, and then waits for `slow` until the request times out.
  await expect(request('/a', { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/)
  for (const path of ['/b', '/c']) expect((await request(path, { signal: newSignal() })).text).toBe('healthy')
  expect(paths).toEqual(['/a', '/b', '/c'])
})

test('throws the connection error after two tries at each instance when all close connections', async () => {
  const tries = [0, 0]
  const serveLostConnections = (number: number) =>
    serve((request) => {
      tries[number] = (tries[number] ?? 0) + 1
      request.socket.destroy()
    }, anyPortOptions)
  await using one = await serveLostConnections(0)
  await using two = await serveLostConnections(1)
  const request = createAuthorizationServerClient([one.url, two.url])
  await expect(request('/a', { signal: newSignal() })).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(tries).toEqual([2, 2])
})

test('returns 503 after one try at each instance when all respond with 503', async () => {
  let requestCount = 0
  const refuse: RequestHandler = (_request, response) => {
    requestCount += 1
    response.writeHead(503).end()
  }
  await using one = await serve(refuse, anyPortOptions)
  await using two = await serve(refuse, anyPortOptions)
  const request = createAuthorizationServerClient([one.url, two.url])
  expect([(await request('/a', { signal: newSignal() })).status, requestCount]).toEqual([503, 2])
})
