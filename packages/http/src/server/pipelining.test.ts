import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { serve } from './server.ts'

const startServer = (handler: RequestHandler) =>
  serve(handler, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
const formatGet = (path: string, ...lines: string[]) =>
  formatHead(`GET ${path} HTTP/1.1`, 'Host: h', ...lines)
const formatPost = (path: string, body: string) =>
  formatHead(`POST ${path} HTTP/1.1`, 'Host: h', `Content-Length: ${body.length}`) + body

test('starts a pipelined request after the response to the previous one', async () => {
  const order: string[] = []
  await using server = await startServer((request, response) => {
    order.push(`begin ${request.url}`)
    setImmediate(() => {
      order.push(`end ${request.url}`)
      response.end()
    })
  })
  await converse(server.port, ['/1', '/2', '/3'].map((path) => formatPost(path, 'body')).join(''), {
    responses: 3,
  })
  expect(order).toEqual(['begin /1', 'end /1', 'begin /2', 'end /2', 'begin /3', 'end /3'])
})

test.for([
  ['the client asks to close it', () => formatGet('/last', 'Connection: close')],
  ['the response closes it', () => formatGet('/close')],
  ['the expectation is unknown', () => formatGet('/last', 'Expect: a miracle')],
  [
    'the transfer coding is unknown',
    () =>
      `${formatHead('POST /last HTTP/1.1', 'Host: h', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  ],
] satisfies [string, () => string][])(
  'handles no request after the last response of a connection, when %s',
  async ([_reason, createLastRequest]) => {
    const handledUrls: (string | undefined)[] = []
    await using server = await startServer((request, response) => {
      handledUrls.push(request.url)
      if (request.url === '/close') response.setHeader('connection', 'close')
      request.resume()
      response.end('answered')
    })
    const { responses, closed } = await converse(
      server.port,
      formatGet('/first') + createLastRequest() + formatPost('/hidden', 'x') + formatGet('/hidden'),
    )
    expect([responses.length, closed]).toEqual([2, true])
    expect(handledUrls).not.toContain('/hidden')
  },
)

test('drops the waiting requests of a lost connection', async () => {
  const firstArrival = Promise.withResolvers<void>()
  let requests: IncomingMessage[] = []
  await using server = await startServer((request) => {
    requests.push(request)
    firstArrival.resolve()
  })
  const socket = connect(server.port, '127.0.0.1')
  socket.write(formatGet('/first') + formatGet('/second').repeat(20))
  await firstArrival.promise
  const [firstRequest] = requests
  socket.destroy()
  await once(firstRequest!.socket, 'close')
  // If the server handled the next request, it would do so now.
  await new Promise(setImmediate)
  expect(requests.map(({ url }) => url)).toEqual(['/first'])
  requests = []
})

test('does not make the requests of one connection wait for those of another', async () => {
  const secondArrival = Promise.withResolvers<void>()
  await using server = await startServer(async (request, response) => {
    if (request.url === '/1') await secondArrival.promise
    else secondArrival.resolve()
    response.end()
  })
  const conversations = await Promise.all(
    ['/1', '/2'].map((path) => converse(server.port, formatGet(path), { responses: 1 })),
  )
  expect(conversations.map(({ responses }) => responses[0]?.status)).toEqual([200, 200])
})
