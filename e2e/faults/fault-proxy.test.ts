import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

let resources: AsyncDisposableStack
let proxy: FaultProxy
/** The chunks that the server received. The server replies to each chunk with the same text in capitals. */
let serverReceived: string[]
let serverSockets: Set<Socket>
/** Nothing listens on the discard port. */
const UNUSED_PORT = 9

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  serverReceived = []
  serverSockets = new Set()
  const server = createServer((socket) => {
    serverSockets.add(socket)
    socket.on('close', () => serverSockets.delete(socket))
    // Some faults reset connections.
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      serverReceived.push(chunk.toString())
      socket.write(chunk.toString().toUpperCase())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  resources.defer(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of serverSockets) socket.destroy()
    await closed
  })
  proxy = resources.use(
    await startFaultProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }),
  )
})
afterEach(() => resources.disposeAsync())

interface Client {
  readonly socket: Socket
  readonly getReceived: () => string
  /** Returns the code of the connection's error, if any. */
  readonly getErrorCode: () => string | undefined
  readonly isClosed: () => boolean
}

/** Connects to the proxy. Resolves once the connection is open or has failed. */
async function connectClient(): Promise<Client> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port, noDelay: true })
  let received = ''
  let errorCode: string | undefined
  let isClosed = false
  socket.on('data', (chunk) => {
    received += chunk.toString()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    errorCode = error.code
  })
  socket.on('close', () => {
    isClosed = true
  })
  resources.defer(() => void socket.destroy())
  const settled = Promise.withResolvers<void>()
  for (const event of ['connect', 'close']) socket.once(event, () => settled.resolve())
  await settled.promise
  return {
    socket,
    getReceived: () => received,
    getErrorCode: () => errorCode,
    isClosed: () => isClosed,
  }
}

async function expectReply(client: Client, word: string): Promise<void> {
  client.socket.write(word)
  await expect.poll(client.getReceived).toContain(word.toUpperCase())
}

test('startCounting counts the chunks from clients that contain a text and are sent after the call', async () => {
  const client = await connectClient()
  await expectReply(client, 'early word')
  const countWord = proxy.startCounting('word')
  await expectReply(client, 'a word')
  await expectReply(client, 'another')
  expect(countWord()).toBe(1)
  const countAnother = proxy.startCounting('another')
  await expectReply(client, 'another one')
  expect([countWord(), countAnother()]).toEqual([1, 1])
})

test('passes bytes in both directions, and closes the connection to the server when the client closes', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  expect(proxy.openConnectionCount).toBe(1)
  client.socket.end()
  await expect.poll(client.isClosed).toBe(true)
  await expect.poll(() => [serverSockets.size, proxy.openConnectionCount]).toEqual([0, 0])
})

test('closes the connection to the client when the server closes', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  for (const socket of serverSockets) socket.end()
  await expect.poll(client.isClosed).toBe(true)
  await expect.poll(() => proxy.openConnectionCount).toBe(0)
})

test('latency delays bytes, and keeps their order', async () => {
  await proxy.setFault({ kind: 'latency', ms: 60, jitterMs: 40 })
  const client = await connectClient()
  const startedAt = performance.now()
  for (const word of ['a', 'b', 'c', 'd', 'e', 'f']) client.socket.write(word)
  await expect.poll(() => client.getReceived().length).toBe(6)
  expect(client.getReceived()).toBe('ABCDEF')
  // The shortest latency, once in each direction.
  expect(performance.now() - startedAt).toBeGreaterThan(2 * (60 - 40))
})

test('refuse closes the port and resets open connections; pass opens the same port again', async () => {
  const earlierClient = await connectClient()
  await expectReply(earlierClient, 'hello')
  await proxy.setFault({ kind: 'refuse' })
  await expect.poll(earlierClient.getErrorCode).toBe('ECONNRESET')
  expect((await connectClient()).getErrorCode()).toBe('ECONNREFUSED')
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'again')
})

test('half-open discards the bytes of open and new connections for good', async () => {
  const earlierClient = await connectClient()
  await expectReply(earlierClient, 'hello')
  await proxy.setFault({ kind: 'half-open' })
  const newClient = await connectClient()
  earlierClient.socket.write('lost')
  newClient.socket.write('lost')
  // Twice the four bytes of `lost`.
  await expect.poll(() => proxy.lostByteCount).toBe(8)
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'later')
  expect([
    earlierClient.getReceived(),
    newClient.getReceived(),
    earlierClient.isClosed(),
    newClient.isClosed(),
  ]).toEqual(['HELLO', '', false, false])
  expect(serverReceived).toEqual(['hello', 'later'])
  earlierClient.socket.end()
  newClient.socket.end()
  await expect.poll(() => [earlierClient.isClosed(), newClient.isClosed()]).toEqual([true, true])
})

test('half-open hides from the server that the client has closed, until the fault ends', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  await proxy.setFault({ kind: 'half-open' })
  client.socket.destroy()
  await connectClient()
  expect(serverSockets.size).toBe(1)
  await proxy.setFault({ kind: 'pass' })
  await expect.poll(() => serverSockets.size).toBe(0)
})

test('a connection that carried no data during half-open works afterwards', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  await proxy.setFault({ kind: 'half-open' })
  await proxy.setFault({ kind: 'pass' })
  await expectReply(client, 'still there')
  expect(serverReceived).toEqual(['hello', 'still there'])
})

test('stop-reading delays bytes until the fault ends', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  await proxy.setFault({ kind: 'stop-reading' })
  client.socket.write('late')
  const newClient = await connectClient()
  newClient.socket.write('later')
  await expect.poll(() => newClient.socket.bytesWritten).toBe(5)
  expect(serverReceived).toEqual(['hello'])
  await proxy.setFault({ kind: 'pass' })
  await expect.poll(client.getReceived).toBe('HELLOLATE')
  await expect.poll(newClient.getReceived).toBe('LATER')
})

test('reset resets open connections and closes new ones', async () => {
  const earlierClient = await connectClient()
  await expectReply(earlierClient, 'hello')
  await proxy.setFault({ kind: 'reset' })
  await expect.poll(earlierClient.getErrorCode).toBe('ECONNRESET')
  const newClient = await connectClient()
  await expect.poll(newClient.isClosed).toBe(true)
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'again')
})

test('drop-replies forwards requests, and discards the replies even after the fault', async () => {
  const client = await connectClient()
  await expectReply(client, 'hello')
  await proxy.setFault({ kind: 'drop-replies' })
  client.socket.write('done')
  await expect.poll(() => serverReceived).toEqual(['hello', 'done'])
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'new')
  client.socket.write('more')
  await expect.poll(() => serverReceived).toEqual(['hello', 'done', 'new', 'more'])
  expect(client.getReceived()).toBe('HELLO')
})

test('hang-new forwards nothing on new connections, and does not affect open ones', async () => {
  const earlierClient = await connectClient()
  await expectReply(earlierClient, 'hello')
  await proxy.setFault({ kind: 'hang-new' })
  const newClient = await connectClient()
  newClient.socket.write('lost')
  await expect.poll(() => proxy.lostByteCount).toBe(4)
  await expectReply(earlierClient, 'still there')
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'later')
  expect([serverReceived, newClient.getReceived(), newClient.isClosed()]).toEqual([
    ['hello', 'still there', 'later'],
    '',
    false,
  ])
})

test('lose-reply-to forwards all requests, and discards replies on a connection from that request on', async () => {
  const client = await connectClient()
  const otherClient = await connectClient()
  await proxy.setFault({ kind: 'lose-reply-to', request: 'commit' })
  await expectReply(client, 'begin')
  client.socket.write('commit')
  await expect.poll(() => serverReceived).toEqual(['begin', 'commit'])
  await proxy.setFault({ kind: 'pass' })
  client.socket.write('more')
  await expect.poll(() => serverReceived).toEqual(['begin', 'commit', 'more'])
  await expectReply(otherClient, 'fine')
  expect(client.getReceived()).toBe('BEGIN')
})

test('redirect changes the target of new connections, and not of open ones', async () => {
  await using deadEnd = await startFaultProxy({ host: '127.0.0.1', port: UNUSED_PORT })
  const earlierClient = await connectClient()
  await expectReply(earlierClient, 'hello')
  proxy.redirect(deadEnd.port)
  await expect.poll((await connectClient()).isClosed).toBe(true)
  await expectReply(earlierClient, 'still there')
})

test('cut-after resets a connection after the given number of reply bytes', async () => {
  await proxy.setFault({ kind: 'cut-after', bytes: 3 })
  const client = await connectClient()
  client.socket.write('hello')
  await expect.poll(client.getErrorCode).toBe('ECONNRESET')
  expect(client.getReceived()).toBe('HEL')
  await proxy.setFault({ kind: 'pass' })
  await expectReply(await connectClient(), 'whole')
})

test('resets a client if the server refuses the connection', async () => {
  await using deadEnd = await startFaultProxy({ host: '127.0.0.1', port: UNUSED_PORT })
  const socket = connect({ host: '127.0.0.1', port: deadEnd.port })
  const errorCode = Promise.withResolvers<string | undefined>()
  socket.on('error', (error: NodeJS.ErrnoException) => errorCode.resolve(error.code))
  expect(await errorCode.promise).toBe('ECONNRESET')
})
