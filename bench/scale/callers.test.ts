import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { formatRequest } from '../load/target.ts'
import { openChangingCaller, REQUESTS_PER_CALLER } from './callers.ts'

test('each caller sends eight requests, and then another one takes its place', async () => {
  const addresses: (string | undefined)[] = []
  const server = createServer((request, response) => {
    addresses.push(request.socket.remoteAddress)
    response.end('fine')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  {
    using connection = openChangingCaller((server.address() as AddressInfo).port)
    for (let request = 0; request < 3 * REQUESTS_PER_CALLER; request += 1) {
      const { promise: status, resolve } = Promise.withResolvers<number>()
      connection.send(formatRequest('GET', '/'), resolve)
      expect(await status).toBe(200)
    }
  }
  server.close()
  await once(server, 'close')
  const counts = [...Map.groupBy(addresses, (address) => address).values()].map(({ length }) => length)
  expect(counts).toEqual([REQUESTS_PER_CALLER, REQUESTS_PER_CALLER, REQUESTS_PER_CALLER])
})
