import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { expect, test } from 'vitest'
import { askAuthorizationServer } from './ask-authorization-server.ts'

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

test('one that is away is passed over for the next, and the one that answered is asked from then on', async () => {
  const first = await instance('first')
  await using second = await instance('second')
  const ask = askAuthorizationServer([first.url, second.url])
  expect((await ask('/a', { signal: soon() })).text).toBe('first')
  await first[Symbol.asyncDispose]()
  expect((await ask('/b', { signal: soon() })).text).toBe('second')
  await using again = await instance('first', first.port)
  expect((await ask('/c', { signal: soon() })).text).toBe('second')
  await second[Symbol.asyncDispose]()
  expect((await ask('/d', { signal: soon() })).text).toBe('first')
  expect([first.asked, second.asked, again.asked]).toEqual([['/a'], ['/b', '/c'], ['/d']])
})

test('a connection that is lost in the middle of an answer is one that is away', async () => {
  await using broken = await serve((request) => request.socket.destroy(), anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([broken.url, second.url])
  expect((await ask('/a', { signal: soon() })).text).toBe('second')
})

test('one that answers wrongly is asked once', async () => {
  await using wrong = await serve((_request, response) => response.writeHead(500).end(), anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([wrong.url, second.url])
  expect((await ask('/a', { signal: soon() })).status).toBe(500)
  expect(second.asked).toEqual([])
})

test('one that does not answer in time is passed over by the next to ask', async () => {
  await using silent = await serve(() => undefined, anyPort)
  await using second = await instance('second')
  const ask = askAuthorizationServer([silent.url, second.url])
  await expect(ask('/a', { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  expect((await ask('/b', { signal: soon() })).text).toBe('second')
})

test('with all away the last failure is thrown, after one try at each', async () => {
  const [one, two] = await Promise.all([instance('one'), instance('two')])
  await Promise.all([one, two].map((each) => each[Symbol.asyncDispose]()))
  const ask = askAuthorizationServer([one.url, two.url])
  await expect(ask('/a', { signal: soon() })).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
})
