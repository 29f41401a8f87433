import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { json } from '../send.ts'
import type { System } from './open-system.ts'

/**
 * Tests the gateway while one process of each app is down. Call this after the other tests of the service, because the restarted
 * processes may not be ready yet.
 */
export function describeStoppedProcesses(getSystem: () => System): void {
  describe('the gateway while one process of each app is down', () => {
    test('forwards every request, with its own body, to the remaining process', async () => {
      const system = getSystem()
      const { stack } = system
      const stoppedProcesses = [stack.auth[0], stack.resource[0]].filter((each) => each !== undefined)
      await Promise.all(stoppedProcesses.map((each) => each.stop('SIGKILL')))
      try {
        // Waits until the gateway has closed its connections to these processes. If it sent a POST on such a connection, it could
        // not repeat the POST, and would respond 503.
        await expect
          .poll(() => countOpenConnections(stoppedProcesses.map(({ ports }) => ports.public)))
          .toBe(0)
        // An address that no other test uses, because limits count the requests of an address.
        const sender = system.createSender({ from: '127.0.0.17' })
        const register = (name: string) =>
          sender.send({ method: 'POST', path: '/api/agent/register', ...json({ client_name: name }) })
        // The health check of the gateway may not have excluded the processes yet when the first of these requests arrive. The
        // requests are simultaneous, because a gateway that repeats requests could mix up their bodies.
        for (let round = 0; round < 3; round += 1) {
          const names = Array.from({ length: 30 }, (_each, index) => `Agent ${index} of round ${round}`)
          const responses = await Promise.all(names.map(register))
          for (const [index, { status, text }] of responses.entries()) {
            expect(status).toBe(201)
            expect(text).toContain(`"client_name":"${names[index]}"`)
          }
        }
        const statuses: number[] = []
        for (let round = 0; round < 8; round += 1)
          for (const request of [
            { method: 'POST', path: '/api/agent/register', ...json({ client_name: 'Atlas' }) },
            { method: 'POST', path: '/api/waitlist', ...json({ email: system.createEmail() }) },
            { path: '/auth.md' },
            { path: '/api/guides' },
          ])
            statuses.push((await sender.send(request)).status)
        expect(statuses).toEqual(Array.from({ length: 8 }, () => [201, 201, 200, 200]).flat())
      } finally {
        await Promise.all(stoppedProcesses.map((each) => each.start()))
      }
    })
  })
}

// States in `/proc/net/tcp` (include/net/tcp_states.h), as the client sees the connection.
/** Neither side has closed the connection. */
const ESTABLISHED = '01'
/** The server has closed the connection, and the client has not. */
const CLOSE_WAIT = '08'

/**
 * Counts the IPv4 connections to these ports that the client has not closed. Ignores the remote address, because all processes of
 * the stack are on loopback.
 */
function countOpenConnections(ports: readonly number[]): number {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines.filter((line) => {
    // The columns are `sl`, `local_address`, `rem_address` and `st` (proc_net_tcp). Addresses and ports are hexadecimal.
    const [, , remoteAddress = '', state = ''] = line.trim().split(/\s+/)
    const port = Number.parseInt(remoteAddress.split(':')[1] ?? '', 16)
    return ports.includes(port) && [ESTABLISHED, CLOSE_WAIT].includes(state)
  }).length
}
