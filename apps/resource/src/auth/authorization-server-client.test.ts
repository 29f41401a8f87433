import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { expect, test } from 'vitest'
import { createAuthorizationServerClient, KEY_SET_PATH } from './authorization-server-client.ts'

const anyPort = { port: 0, host: '127.0.0.1', drainSeconds: 0 }
const soon = () => AbortSignal.timeout(10_000)

/** Starts a server that responds with its name and records the paths requested. */
async function instance(name: string, port = 0) {
  const paths: string[] = []
  const handler: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    response.end(name)
  }
  const server: RunningServer = await serve(handler, { ...anyPort, port })
  return { ...server, paths, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('sends requests to all instances in turn', async () => {
  await using first = await instance('first')
  await using second = await instance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  for (let n = 0; n < 6; n += 1) await request('/a', { signal: soon() })
  expect([first.paths.length, second.paths.length]).toEqual([3, 3])
})

test('sends fewer requests to a slow instance', async () => {
  const slow: (() => void)[] = []
  await using first = await serve((_request, response) => void slow.push(() => response.end('slow')), anyPort)
  await using second = await instance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  const waiting = [request('/a', { signal: soon() }), request('/a', { signal: soon() })]
  await expect.poll(() => [slow.length, second.paths.length]).toEqual([1, 1])
  for (let n = 0; n < 6; n += 1) expect((await request('/b', { signal: soon() })).text).toBe('second')
  slow[0]?.()
  const texts = (await Promise.all(waiting)).map(({ text }) => text)
  expect([texts.toSorted(), slow.length]).toEqual([['second', 'slow'], 1])
})

test('skips an unavailable instance, and uses it again when it is back', async () => {
  const first = await instance('first')
  await using second = await instance('second')
  const request = createAuthorizationServerClient([first.url, second.url])
  const twice = async () => {
    const responses = [await request('/a', { signal: soon() }), await request('/a', { signal: soon() })]
    return responses.map(({ text }) => text).toSorted()
  }
  expect(await twice()).toEqual(['first', 'second'])
  await first[Symbol.asyncDispose]()
  expect(await twice()).toEqual(['second', 'second'])
  await using again = await instance('first', first.port)
  await expect.poll(twice).toEqual(['first', 'second'])
  expect(again.paths).toContain(KEY_SET_PATH)
})

test('probes an instance that responds to probes with an error four times a second, and does not use it', async () => {
  let now = 0
  const first = await instance('first')
  await using second = await instance('second')
  const request = createAuthorizationServerClient([first.url, second.url], { now: () => now })
  await first[Symbol.asyncDispose]()
  for (let n = 0; n < 2; n += 1) expect((await request('/a', { signal: soon() })).text).toBe('second')
  const paths: string[] = []
  const refuse: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    response.writeHead(503).end()
  }
  await using _unready = await serve(refuse, { ...anyPort, port: first.port })
  for (const probes of [1, 2, 3]) {
    now += 250
    const countProbes = async () => {
      expect((await request('/a', { signal: soon() })).text).toBe('second')
      return paths.length
    }
    await expect.poll(countProbes).toBe(probes)
    for (let times = 0; times < 20; times += 1) expect(await countProbes()).toBe(probes)
  }
  expect(new Set(paths)).toEqual(new Set([KEY_SET_PATH]))
})

const LOST: [string, RequestHandler][] = [
  ['before a response', (request) => request.socket.destroy()],
  [
    'in the middle of a response',
    (request, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => request.socket.destroy())
    },
  ],
]

test.for(LOST)('treats an instance whose connection is lost %s as unavailable', async ([, lose]) => {
  await using broken = await serve(lose, anyPort)
  await using second = await instance('second')
  const request = createAuthorizationServerClient([broken.url, second.url])
  for (let n = 0; n < 2; n += 1) expect((await request('/a', { signal: soon() })).text).toBe('second')
})

test('sends a request once to an instance that responds with an error, and keeps using it', async () => {
  await using wrong = await serve((_request, response) => response.writeHead(500).end(), anyPort)
  await using second = await instance('second')
  const request = createAuthorizationServerClient([wrong.url, second.url])
  const statuses: number[] = []
  for (let n = 0; n < 4; n += 1) statuses.push((await request('/a', { signal: soon() })).status)
  expect([statuses.toSorted(), second.paths]).toEqual([
    [200, 200, 500, 500],
    ['/a', '/a'],
  ])
})

test('skips an instance that did not respond in time for later requests', async () => {
  await using silent = await serve(() => undefined, anyPort)
  await using second = await instance('second')
  const request = createAuthorizationServerClient([silent.url, second.url])
  const inTime = async () => {
    const [outcome] = await Promise.allSettled([request('/a', { signal: AbortSignal.timeout(1_000) })])
    return outcome.status === 'fulfilled' ? outcome.value.text : outcome.reason.name
  }
  const outcomes = [await inTime(), await inTime()]
  expect(outcomes.toSorted()).toEqual(['TimeoutError', 'second'])
  for (let n = 0; n < 4; n += 1) expect((await request('/b', { signal: soon() })).text).toBe('second')
})

test('skips an instance that responds with 503, and tries it less and less while it only responds to probes', async () => {
  let [posts, probes, status, now] = [0, 0, 503, 0]
  const handler: RequestHandler = (incoming, response) => {
    if (incoming.url === KEY_SET_PATH) probes += 1
    else posts += 1
    response.writeHead(incoming.url === KEY_SET_PATH ? 200 : status).end('sick')
  }
  await using sick = await serve(handler, anyPort)
  await using well = await instance('well')
  const request = createAuthorizationServerClient([sick.url, well.url], { now: () => now })
  const next = async (ms = 250) => {
    now += ms
    // Either may be the one whose turn it is.
    for (let times = 0; times < 2; times += 1) await request(KEY_SET_PATH, { signal: soon() })
    return (await request('/a', { signal: soon() })).text
  }
  for (let n = 0; n < 240; n += 1) expect(await next()).toBe('well')
  expect(posts).toBeGreaterThan(3)
  expect(posts).toBeLessThan(18)
  status = 200
  await expect.poll(() => next(8_000)).toBe('sick')
  status = 503
  const [postsBefore, probesBefore] = [posts, probes]
  const nextPost = async () => {
    expect((await request('/a', { signal: soon() })).text).toBe('well')
    return posts
  }
  await expect.poll(nextPost).toBe(postsBefore + 1)
  await expect.poll(nextPost).toBe(postsBefore + 2)
  expect(probes).toBe(probesBefore + 1)
})

test('does not blame an instance for time that others used up before or during its request', async () => {
  const paths: string[] = []
  const handler: RequestHandler = (incoming, response) => {
    paths.push(incoming.url ?? '')
    if (paths.length > 1) response.end('well')
  }
  await using slow = await serve(handler, anyPort)
  await using sick = await serve((_request, response) => response.writeHead(503).end(), anyPort)
  const request = createAuthorizationServerClient([slow.url, sick.url])
  const over = { signal: AbortSignal.abort(new RangeError('over')) }
  for (let times = 0; times < 3; times += 1) await expect(request('/none', over)).rejects.toThrow('over')
  await expect(request('/a', { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/)
  for (const path of ['/b', '/c']) expect((await request(path, { signal: soon() })).text).toBe('well')
  expect(paths).toEqual(['/a', '/b', '/c'])
})

test('throws the last failure after one try at each unavailable instance, two for a lost connection', async () => {
  const tries = [0, 0]
  const losing = (number: number) =>
    serve((request) => {
      tries[number] = (tries[number] ?? 0) + 1
      request.socket.destroy()
    }, anyPort)
  await using one = await losing(0)
  await using two = await losing(1)
  const request = createAuthorizationServerClient([one.url, two.url])
  await expect(request('/a', { signal: soon() })).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(tries).toEqual([2, 2])
})

test('returns 503 after one try at each instance when all respond with it', async () => {
  let requests = 0
  const refuse: RequestHandler = (_request, response) => {
    requests += 1
    response.writeHead(503).end()
  }
  await using one = await serve(refuse, anyPort)
  await using two = await serve(refuse, anyPort)
  const request = createAuthorizationServerClient([one.url, two.url])
  expect([(await request('/a', { signal: soon() })).status, requests]).toEqual([503, 2])
})
