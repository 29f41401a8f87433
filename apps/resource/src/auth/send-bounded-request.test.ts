import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { sendBoundedRequest } from './send-bounded-request.ts'

let resources = new AsyncDisposableStack()
afterEach(async () => {
  await resources.disposeAsync()
  resources = new AsyncDisposableStack()
})

/**
 * Starts a server that calls `respond` with each connection's socket and number when the connection's first data arrives.
 *
 * @returns the server's URL
 */
async function startServer(respond: (socket: Socket, connectionNumber: number) => void): Promise<string> {
  let connectionCount = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connectionCount += 1
    const connectionNumber = connectionCount
    // A client that aborts may reset its connection. Without a listener, the error would be an uncaught exception.
    sockets.add(socket.on('error', () => undefined))
    socket.once('data', () => respond(socket, connectionNumber))
  }).listen(0, '127.0.0.1')
  resources.defer(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const newSignal = () => AbortSignal.timeout(10_000)

test('repeats a request once when its connection is lost', async () => {
  const url = await startServer((socket, connectionNumber) =>
    connectionNumber === 1 ? socket.destroy() : socket.end(OK),
  )
  expect((await sendBoundedRequest(url, { signal: newSignal() })).text).toBe('ok')
})

test('fails when the connection is lost twice', async () => {
  const url = await startServer((socket, connectionNumber) =>
    // A third attempt would succeed, so the test fails if there is one.
    connectionNumber < 3 ? socket.destroy() : socket.end(OK),
  )
  await expect(sendBoundedRequest(url, { signal: newSignal() })).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('rejects a response that changes the protocol', async () => {
  const url = await startServer((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  await expect(sendBoundedRequest(url, { signal: newSignal() })).rejects.toBeInstanceOf(TypeError)
})

const INCOMPLETE_RESPONSES: [string, string][] = [
  ['nothing', ''],
  ['the beginning of a header section', 'HTTP/1.1 200 OK\r\nContent-'],
  ['a part of the announced body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'],
  ['only an interim response', 'HTTP/1.1 102 Processing\r\n\r\n'],
]

test.for(INCOMPLETE_RESPONSES)('rejects when aborted after the server sent %s', async ([, text]) => {
  const controller = new AbortController()
  const url = await startServer((socket) => {
    socket.write(text)
    controller.abort(new RangeError('over'))
  })
  await expect(sendBoundedRequest(url, { signal: controller.signal })).rejects.toThrow('over')
})

test('sends nothing when the signal is already aborted', async () => {
  let hasReceivedData = false
  const url = await startServer(() => {
    hasReceivedData = true
  })
  await expect(
    sendBoundedRequest(url, { signal: AbortSignal.abort(new RangeError('over')) }),
  ).rejects.toThrow('over')
  expect(hasReceivedData).toBe(false)
})

test('accepts a URL with an upper-case scheme', async () => {
  const url = await startServer((socket) => socket.end(OK))
  expect((await sendBoundedRequest(url.replace('http:', 'HTTP:'), { signal: newSignal() })).text).toBe('ok')
  // The server does not support TLS, so this error shows that TLS was used.
  await expect(sendBoundedRequest(url.replace('http:', 'HTTPS:'), { signal: newSignal() })).rejects.toThrow(
    'wrong version number',
  )
})
