import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

let resources: AsyncDisposableStack
let proxy: FaultProxy
/** The lines that the server received. It replies to each with the same line in capitals. */
let serverReceived: string[]
let serverSockets: Set<Socket>

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  serverReceived = []
  serverSockets = new Set()
  const server = createServer((socket) => {
    serverSockets.add(socket)
    socket.on('close', () => serverSockets.delete(socket))
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
  readonly received: () => string
  readonly failure: () => string | undefined
  readonly closed: () => boolean
}

async function open(): Promise<Client> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port, noDelay: true })
  let received = ''
  let failure: string | undefined
  let closed = false
  socket.on('data', (chunk) => {
    received += chunk.toString()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code
  })
  socket.on('close', () => {
    closed = true
  })
  resources.defer(() => void socket.destroy())
  const settled = Promise.withResolvers<void>()
  for (const event of ['connect', 'close']) socket.once(event, () => settled.resolve())
  await settled.promise
  return { socket, received: () => received, failure: () => failure, closed: () => closed }
}

async function answered(client: Client, word: string): Promise<void> {
  client.socket.write(word)
  await expect.poll(client.received).toContain(word.toUpperCase())
}

test('counts the chunks that contain a text, from the call on', async () => {
  const client = await open()
  await answered(client, 'early word')
  const first = proxy.watch('word')
  await answered(client, 'a word')
  await answered(client, 'another')
  expect(first()).toBe(1)
  const second = proxy.watch('another')
  await answered(client, 'another one')
  expect([first(), second()]).toEqual([1, 1])
})

test('passes bytes in both directions, and forwards the end of one side', async () => {
  const client = await open()
  await answered(client, 'hello')
  expect(proxy.open).toBe(1)
  client.socket.end()
  await expect.poll(client.closed).toBe(true)
  await expect.poll(() => [serverSockets.size, proxy.open]).toEqual([0, 0])
})

test('forwards the end of the server to the client', async () => {
  const client = await open()
  await answered(client, 'hello')
  for (const socket of serverSockets) socket.end()
  await expect.poll(client.closed).toBe(true)
  await expect.poll(() => proxy.open).toBe(0)
})

test('latency delays each direction and keeps the order', async () => {
  await proxy.set({ kind: 'latency', ms: 60, jitterMs: 40 })
  const client = await open()
  const startedAt = performance.now()
  for (const word of ['a', 'b', 'c', 'd', 'e', 'f']) client.socket.write(word)
  await expect.poll(() => client.received().length).toBe(6)
  expect(client.received()).toBe('ABCDEF')
  expect(performance.now() - startedAt).toBeGreaterThan(2 * (60 - 40))
})

test('refuse closes the port and resets open connections; pass opens the same port again', async () => {
  const openBefore = await open()
  await answered(openBefore, 'hello')
  await proxy.set({ kind: 'refuse' })
  await expect.poll(openBefore.failure).toBe('ECONNRESET')
  expect((await open()).failure()).toBe('ECONNREFUSED')
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'again')
})

test('half-open accepts connections, discards all bytes of old and new ones, and never delivers them', async () => {
  const openBefore = await open()
  await answered(openBefore, 'hello')
  await proxy.set({ kind: 'half-open' })
  const during = await open()
  openBefore.socket.write('lost')
  during.socket.write('lost')
  await expect.poll(() => proxy.lostBytes).toBe(8)
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'later')
  expect([openBefore.received(), during.received(), openBefore.closed(), during.closed()]).toEqual([
    'HELLO',
    '',
    false,
    false,
  ])
  expect(serverReceived).toEqual(['hello', 'later'])
  openBefore.socket.end()
  during.socket.end()
  await expect.poll(() => [openBefore.closed(), during.closed()]).toEqual([true, true])
})

test('half-open hides the end of each side from the other until the fault ends', async () => {
  const client = await open()
  await answered(client, 'hello')
  await proxy.set({ kind: 'half-open' })
  client.socket.destroy()
  await open()
  expect(serverSockets.size).toBe(1)
  await proxy.set({ kind: 'pass' })
  await expect.poll(() => serverSockets.size).toBe(0)
})

test('a connection without data during half-open works again afterwards', async () => {
  const client = await open()
  await answered(client, 'hello')
  await proxy.set({ kind: 'half-open' })
  await proxy.set({ kind: 'pass' })
  await answered(client, 'still there')
  expect(serverReceived).toEqual(['hello', 'still there'])
})

test('stop-reading delays bytes until the fault ends', async () => {
  const client = await open()
  await answered(client, 'hello')
  await proxy.set({ kind: 'stop-reading' })
  client.socket.write('late')
  const another = await open()
  another.socket.write('later')
  await expect.poll(() => another.socket.bytesWritten).toBe(5)
  expect(serverReceived).toEqual(['hello'])
  await proxy.set({ kind: 'pass' })
  await expect.poll(client.received).toBe('HELLOLATE')
  await expect.poll(another.received).toBe('LATER')
})

test('reset resets open and new connections', async () => {
  const openBefore = await open()
  await answered(openBefore, 'hello')
  await proxy.set({ kind: 'reset' })
  await expect.poll(openBefore.failure).toBe('ECONNRESET')
  const during = await open()
  await expect.poll(during.closed).toBe(true)
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'again')
})

test('drop-replies forwards requests and discards the replies', async () => {
  const client = await open()
  await answered(client, 'hello')
  await proxy.set({ kind: 'drop-replies' })
  client.socket.write('done')
  await expect.poll(() => serverReceived).toEqual(['hello', 'done'])
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'new')
  client.socket.write('more')
  await expect.poll(() => serverReceived).toEqual(['hello', 'done', 'new', 'more'])
  expect(client.received()).toBe('HELLO')
})

test('hang-new forwards nothing on new connections, and does not affect open ones', async () => {
  const openBefore = await open()
  await answered(openBefore, 'hello')
  await proxy.set({ kind: 'hang-new' })
  const during = await open()
  during.socket.write('lost')
  await expect.poll(() => proxy.lostBytes).toBe(4)
  await answered(openBefore, 'still there')
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'later')
  expect([serverReceived, during.received(), during.closed()]).toEqual([
    ['hello', 'still there', 'later'],
    '',
    false,
  ])
})

test('lose-reply-to forwards all requests, and discards replies from that request on', async () => {
  const [one, another] = [await open(), await open()]
  await proxy.set({ kind: 'lose-reply-to', request: 'commit' })
  await answered(one, 'begin')
  one.socket.write('commit')
  await expect.poll(() => serverReceived).toEqual(['begin', 'commit'])
  await proxy.set({ kind: 'pass' })
  one.socket.write('more')
  await expect.poll(() => serverReceived).toEqual(['begin', 'commit', 'more'])
  await answered(another, 'fine')
  expect(one.received()).toBe('BEGIN')
})

test('new connections go to the current target', async () => {
  await using elsewhere = await startFaultProxy({ host: '127.0.0.1', port: 9 })
  const openBefore = await open()
  await answered(openBefore, 'hello')
  proxy.aim(elsewhere.port)
  await expect.poll((await open()).closed).toBe(true)
  await answered(openBefore, 'still there')
})

test('cut-after resets a connection after so many bytes of replies', async () => {
  await proxy.set({ kind: 'cut-after', bytes: 3 })
  const client = await open()
  client.socket.write('hello')
  await expect.poll(client.failure).toBe('ECONNRESET')
  expect(client.received()).toBe('HEL')
  await proxy.set({ kind: 'pass' })
  await answered(await open(), 'whole')
})

test('resets the client while the server is down, and works again when it is up', async () => {
  await using nowhere = await startFaultProxy({ host: '127.0.0.1', port: 9 })
  const socket = connect({ host: '127.0.0.1', port: nowhere.port })
  const failed = Promise.withResolvers<string | undefined>()
  socket.on('error', (error: NodeJS.ErrnoException) => failed.resolve(error.code))
  expect(await failed.promise).toBe('ECONNRESET')
})
