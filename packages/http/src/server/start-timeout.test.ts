import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startTimeout } from './start-timeout.ts'

/** Blocks this thread, as a busy machine does. */
const blockForMs = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

test('times out when nothing arrives', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  using _timeout = startTimeout(1, () => resolve('timed out'))
  expect(await promise).toBe('timed out')
})

test('reads what has arrived before it times out', async () => {
  const server = createServer((socket) => socket.end('response'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { promise, resolve } = Promise.withResolvers<string>()
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const accepted = once(server, 'connection')
  await Promise.all([once(client, 'connect'), accepted])
  // The server wrote the response when it accepted the connection, and this thread has not read it yet.
  client.on('data', (data: Buffer) => resolve(data.toString()))
  using _timeout = startTimeout(1, () => resolve('timed out'))
  blockForMs(5)
  expect(await promise).toBe('response')
})

test('does not time out once it was disposed of', async () => {
  const calls: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  startTimeout(1, () => calls.push('disposed of'))[Symbol.dispose]()
  // Both times are up in the same turn of the event loop, and the first timeout disposes of the second.
  using _first = startTimeout(1, () => second[Symbol.dispose]())
  const second = startTimeout(1, () => calls.push('disposed of when the time was up'))
  blockForMs(5)
  using _last = startTimeout(2, resolve)
  await promise
  expect(calls).toEqual([])
})
