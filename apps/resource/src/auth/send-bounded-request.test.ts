import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { sendBoundedRequest } from './send-bounded-request.ts'

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

/**
 * Starts a server that calls `respond` with each connection's socket once it has received data.
 *
 * @returns its URL
 */
async function listen(respond: (socket: Socket, connection: number) => void): Promise<string> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections += 1
    const connection = connections
    sockets.add(socket.on('error', () => undefined))
    socket.once('data', () => respond(socket, connection))
  }).listen(0, '127.0.0.1')
  opened.defer(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const soon = () => AbortSignal.timeout(10_000)

test('repeats a request once when its connection is lost', async () => {
  const url = await listen((socket, connection) => (connection === 1 ? socket.destroy() : socket.end(OK)))
  expect((await sendBoundedRequest(url, { signal: soon() })).text).toBe('ok')
})

test('fails when the connection is lost twice', async () => {
  const url = await listen((socket, connection) => (connection < 3 ? socket.destroy() : socket.end(OK)))
  await expect(sendBoundedRequest(url, { signal: soon() })).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('rejects a response that changes the protocol', async () => {
  const url = await listen((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  await expect(sendBoundedRequest(url, { signal: soon() })).rejects.toBeInstanceOf(TypeError)
})

const SILENT: [string, string][] = [
  ['nothing', ''],
  ['the beginning of a header section', 'HTTP/1.1 200 OK\r\nContent-'],
  ['a part of the promised body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'],
  ['only an interim response', 'HTTP/1.1 102 Processing\r\n\r\n'],
]

test.for(SILENT)('ends with the signal when the server sends %s', async ([, sent]) => {
  const stopped = new AbortController()
  const url = await listen((socket) => {
    socket.write(sent)
    stopped.abort(new RangeError('over'))
  })
  await expect(sendBoundedRequest(url, { signal: stopped.signal })).rejects.toThrow('over')
})

test('sends nothing when the signal is already aborted', async () => {
  let reached = false
  const url = await listen(() => {
    reached = true
  })
  await expect(
    sendBoundedRequest(url, { signal: AbortSignal.abort(new RangeError('over')) }),
  ).rejects.toThrow('over')
  expect(reached).toBe(false)
})

test('accepts a scheme in capitals', async () => {
  const url = await listen((socket) => socket.end(OK))
  expect((await sendBoundedRequest(url.replace('http:', 'HTTP:'), { signal: soon() })).text).toBe('ok')
  await expect(sendBoundedRequest(url.replace('http:', 'HTTPS:'), { signal: soon() })).rejects.toThrow(
    'wrong version number',
  )
})
