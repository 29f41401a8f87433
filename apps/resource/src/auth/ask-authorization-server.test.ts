import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { expect, test } from 'vitest'
import { askAuthorizationServer, KEY_SET } from './ask-authorization-server.ts'

const anyPort = { port: 0, host: '127.0.0.1', drainSeconds: 0 }
const soon = () => AbortSignal.timeout(10_000)

/** Says its name, and counts who asked. */
async function instance(name: string, port = 0) {
  const asked: string[] = []
  const handler: RequestHandler = (request, response) => {
    asked.push(request.url ?? '')
    response.end(name)
  }
  const server: RunningServer = await serve(handler, { ...anyPort, port })
  return { ...server, asked, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('all are asked in turn', async () => {
  await using first = await instance('first')
  await using second = await instance('second')
  const ask = askAuthorizationServer([first.url, second.url])
  for (let asked = 0; asked < 6; asked += 1) await ask('/a', { signal: soon() })
  expect([first.asked.length, second.asked.length]).toEqual([3, 3])
})

test('one that answers slowly is asked less', async () => {
  const slow: (() => void)[] = []
  await using first = await serve((_request, response) => void slow.push(() => response.end('slow')), anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([first.url, second.url])
  const waiting = [ask('/a', { signal: soon() }), ask('/a', { signal: soon() })]
  await expect.poll(() => [slow.length, second.asked.length]).toEqual([1, 1])
  for (let asked = 0; asked < 6; asked += 1) expect((await ask('/b', { signal: soon() })).text).toBe('second')
  slow[0]?.()
  const texts = (await Promise.all(waiting)).map(({ text }) => text)
  expect([texts.toSorted(), slow.length]).toEqual([['second', 'slow'], 1])
})

test('one that is away is passed over for the next, and asked again when it is back', async () => {
  const first = await instance('first')
  await using second = await instance('second')
  const ask = askAuthorizationServer([first.url, second.url])
  const twice = async () => {
    const answers = [await ask('/a', { signal: soon() }), await ask('/a', { signal: soon() })]
    return answers.map(({ text }) => text).toSorted()
  }
  expect(await twice()).toEqual(['first', 'second'])
  await first[Symbol.asyncDispose]()
  expect(await twice()).toEqual(['second', 'second'])
  await using again = await instance('first', first.port)
  await expect.poll(twice).toEqual(['first', 'second'])
  expect(again.asked).toContain(KEY_SET)
})

test('one that answers a look with an error stays away, and is looked at four times a second', async () => {
  let now = 0
  const first = await instance('first')
  await using second = await instance('second')
  const ask = askAuthorizationServer([first.url, second.url], { now: () => now })
  await first[Symbol.asyncDispose]()
  for (let asked = 0; asked < 2; asked += 1) expect((await ask('/a', { signal: soon() })).text).toBe('second')
  const asked: string[] = []
  const refuse: RequestHandler = (request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(503).end()
  }
  await using _unready = await serve(refuse, { ...anyPort, port: first.port })
  for (const looks of [1, 2, 3]) {
    now += 250
    const seen = async () => {
      expect((await ask('/a', { signal: soon() })).text).toBe('second')
      return asked.length
    }
    await expect.poll(seen).toBe(looks)
    for (let times = 0; times < 20; times += 1) expect(await seen()).toBe(looks)
  }
  expect(new Set(asked)).toEqual(new Set([KEY_SET]))
})

const LOST: [string, RequestHandler][] = [
  ['before an answer', (request) => request.socket.destroy()],
  [
    'in the middle of an answer',
    (request, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => request.socket.destroy())
    },
  ],
]

test.for(LOST)('an instance whose connection is lost %s is away', async ([, lose]) => {
  await using broken = await serve(lose, anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([broken.url, second.url])
  for (let asked = 0; asked < 2; asked += 1) expect((await ask('/a', { signal: soon() })).text).toBe('second')
})

test('one that answers wrongly is asked once, and is not away', async () => {
  await using wrong = await serve((_request, response) => response.writeHead(500).end(), anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([wrong.url, second.url])
  const statuses: number[] = []
  for (let asked = 0; asked < 4; asked += 1) statuses.push((await ask('/a', { signal: soon() })).status)
  expect([statuses.toSorted(), second.asked]).toEqual([
    [200, 200, 500, 500],
    ['/a', '/a'],
  ])
})

test('one that does not answer in time is passed over by the next to ask', async () => {
  await using silent = await serve(() => undefined, anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([silent.url, second.url])
  const inTime = async () => {
    const [outcome] = await Promise.allSettled([ask('/a', { signal: AbortSignal.timeout(1_000) })])
    return outcome.status === 'fulfilled' ? outcome.value.text : outcome.reason.name
  }
  const outcomes = [await inTime(), await inTime()]
  expect(outcomes.toSorted()).toEqual(['TimeoutError', 'second'])
  for (let asked = 0; asked < 4; asked += 1) expect((await ask('/b', { signal: soon() })).text).toBe('second')
})

test('an instance that answers 503 is passed over at once, and asked ever more rarely while it answers looks alone', async () => {
  let [posts, looks, status, now] = [0, 0, 503, 0]
  const handler: RequestHandler = (request, response) => {
    if (request.url === KEY_SET) looks += 1
    else posts += 1
    response.writeHead(request.url === KEY_SET ? 200 : status).end('sick')
  }
  await using sick = await serve(handler, anyPort)
  await using well = await instance('well')
  const ask = askAuthorizationServer([sick.url, well.url], { now: () => now })
  const next = async (ms = 250) => {
    now += ms
    // Either may be the one whose turn it is.
    for (let times = 0; times < 2; times += 1) await ask(KEY_SET, { signal: soon() })
    return (await ask('/a', { signal: soon() })).text
  }
  for (let asked = 0; asked < 240; asked += 1) expect(await next()).toBe('well')
  expect(posts).toBeGreaterThan(3)
  expect(posts).toBeLessThan(18)
  status = 200
  await expect.poll(() => next(8_000)).toBe('sick')
  status = 503
  const [postsBefore, looksBefore] = [posts, looks]
  const nextPost = async () => {
    expect((await ask('/a', { signal: soon() })).text).toBe('well')
    return posts
  }
  await expect.poll(nextPost).toBe(postsBefore + 1)
  await expect.poll(nextPost).toBe(postsBefore + 2)
  expect(looks).toBe(looksBefore + 1)
})

test('nobody is away since others used up the time, before it was asked or while it was', async () => {
  const asked: string[] = []
  const handler: RequestHandler = (request, response) => {
    asked.push(request.url ?? '')
    if (asked.length > 1) response.end('well')
  }
  await using slow = await serve(handler, anyPort)
  await using sick = await serve((_request, response) => response.writeHead(503).end(), anyPort)
  const ask = askAuthorizationServer([slow.url, sick.url])
  const over = { signal: AbortSignal.abort(new RangeError('over')) }
  for (let times = 0; times < 3; times += 1) await expect(ask('/none', over)).rejects.toThrow('over')
  await expect(ask('/a', { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/)
  for (const path of ['/b', '/c']) expect((await ask(path, { signal: soon() })).text).toBe('well')
  expect(asked).toEqual(['/a', '/b', '/c'])
})

test('with all away the last failure is thrown, after one try at each, which is two for a lost connection', async () => {
  const tries = [0, 0]
  const losing = (number: number) =>
    serve((request) => {
      tries[number] = (tries[number] ?? 0) + 1
      request.socket.destroy()
    }, anyPort)
  await using one = await losing(0)
  await using two = await losing(1)
  const ask = askAuthorizationServer([one.url, two.url])
  await expect(ask('/a', { signal: soon() })).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(tries).toEqual([2, 2])
})

test('with all answering 503 that is the answer, after one try at each', async () => {
  let asked = 0
  const refuse: RequestHandler = (_request, response) => {
    asked += 1
    response.writeHead(503).end()
  }
  await using one = await serve(refuse, anyPort)
  await using two = await serve(refuse, anyPort)
  const ask = askAuthorizationServer([one.url, two.url])
  expect([(await ask('/a', { signal: soon() })).status, asked]).toEqual([503, 2])
})
