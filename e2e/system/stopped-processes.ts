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
      const sender = system.createSender({ from: '127.0.0.17' })
      const register = (name: string) =>
        sender.send({ method: 'POST', path: '/api/agent/register', ...json({ client_name: name }) })
      // The gateway has not noticed the failure when it receives the first of these requests.
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
