import { once } from 'node:events'
import { createServer } from 'node:net'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { expect, test } from 'vitest'
import { refuseBusyPorts } from './refuse-busy-ports.ts'
import {
  assignFixedPorts,
  FIXED_PORT_COUNT,
  findFreeStackPorts,
  listPorts,
  MAX_INSTANCES,
} from './stack-ports.ts'

const MAX_OF_EACH = { auth: MAX_INSTANCES, resource: MAX_INSTANCES }

test('the fixed ports are at the offsets from the base port that the usage text lists', () => {
  const ports = assignFixedPorts(9_000)
  expect(ports).toMatchObject({
    postgres: 9_000,
    redis: 9_001,
    prometheus: 9_002,
    mailbox: 9_003,
    smtp: 9_004,
  })
  expect(ports.app('auth', 1)).toEqual({ public: 9_010, operations: 9_011, internal: 9_012 })
  expect(ports.app('resource', 3)).toMatchObject({ public: 9_035, operations: 9_036 })
})

test.for([
  ['fixed', async () => assignFixedPorts(9_000)],
  ['free', () => findFreeStackPorts(MAX_INSTANCES)],
] as const)('%s ports differ from each other, with the maximum number of instances', async ([, assign]) => {
  const ports = listPorts(await assign(), MAX_OF_EACH).map(({ port }) => port)
  expect(new Set(ports).size).toBe(ports.length)
  expect(Math.min(...ports)).toBeGreaterThan(0)
})

test('fixed ports are in the range that starts at the base port', () => {
  for (const { port } of listPorts(assignFixedPorts(9_000), MAX_OF_EACH))
    expect(port).toBeLessThan(9_000 + FIXED_PORT_COUNT)
})

test('the error for a busy port names the process that needs it and the setting to change', async () => {
  const [busy = 0, free = 0] = await reserveFreePorts(2)
  const server = createServer().listen(busy, '127.0.0.1')
  await once(server, 'listening')
  try {
    const requiredPorts = [
      { port: free, process: 'Redis' },
      { port: busy, process: 'resource-2' },
    ]
    await expect(refuseBusyPorts(requiredPorts, 'set --base-port to another port')).rejects.toThrow(
      `Port ${busy} is in use, and resource-2 needs it. Stop the program that uses it, or set --base-port to another port.`,
    )
    // Does not throw, because this port is free.
    await refuseBusyPorts(requiredPorts.slice(0, 1), 'set --base-port to another port')
  } finally {
    server.close()
  }
})
