import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { json } from '../send.ts'
import type { System } from './open-system.ts'

/** Tests the gateway while one process of each app is down. Call this after other tests, because it leaves processes that have just started. */
export function describeStoppedProcesses(getSystem: () => System): void {
  describe('the gateway', () => {
    test('sends every request, with its own body, to the other process while one process of each app is down', async () => {
      const { stack, ...system } = getSystem()
      const stoppedApps = [stack.auth[0], stack.resource[0]].filter((each) => each !== undefined)
      await Promise.all(stoppedApps.map((each) => each.stop('SIGKILL')))
      // A POST that the gateway sends on a connection whose end it has not noticed cannot be repeated, and gets 503.
      await expect.poll(() => countConnectionsTo(stoppedApps.map(({ ports }) => ports.public))).toBe(0)
      const sender = system.createSender({ from: '127.0.0.17' })
      const register = (name: string) =>
        sender.send({ method: 'POST', path: '/api/agent/register', ...json({ client_name: name }) })
      // The gateway has not noticed that the processes are down when it receives the first of these requests.
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
      await Promise.all(stoppedApps.map((each) => each.start()))
      expect(statuses).toEqual(Array.from({ length: 8 }, () => [201, 201, 200, 200]).flat())
    })
  })
}

/** A state of a connection in `/proc/net/tcp` (include/net/tcp_states.h). */
const ESTABLISHED = '01'
/** Another state: the server has closed the connection, and the client has not. */
const CLOSE_WAIT = '08'

/** Counts the connections of this machine's processes to these local ports that their clients have not closed. */
function countConnectionsTo(ports: readonly number[]): number {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines.filter((line) => {
    // The columns are `sl`, `local_address`, `rem_address` and `st` (proc_net_tcp). Addresses and ports are hexadecimal.
    const [, , remoteAddress = '', state = ''] = line.trim().split(/\s+/)
    const port = Number.parseInt(remoteAddress.split(':')[1] ?? '', 16)
    return ports.includes(port) && [ESTABLISHED, CLOSE_WAIT].includes(state)
  }).length
}
