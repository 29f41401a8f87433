import { execFile } from 'node:child_process'
import { setInterval as every } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { System } from './open-system.ts'

const CONNECTIONS = 200
const SECONDS = 12
/** Other clients: one request each so many ms, at each place. */
const PROBE_MS = 50
const SOON_MS = 1_000

const MODES = [
  { what: 'headers', options: ['-H', '-i', '1', '-x', '24'], path: '/api/health' },
  {
    what: 'bodies',
    options: ['-B', '-i', '1', '-s', '8192', '-x', '10', '-f', 'application/json'],
    path: '/api/waitlist',
  },
  {
    what: 'reading',
    options: ['-X', '-n', '1', '-w', '1', '-y', '10', '-z', '4', '-k', '3'],
    path: '/api/guides',
  },
] as const

/** `slowhttptest` against the gateway and one process of each app at once, while others use the service. */
export function describeSlowClients(running: () => System): void {
  describe(`N-128 while ${CONNECTIONS} clients are slow at each place for ${SECONDS} s, others are served:`, () => {
    test.for(MODES)('slow $what', { timeout: 60_000 }, async ({ options, path }) => {
      const system = running()
      const places = [
        system.origin,
        `http://localhost:${system.stack.auth[0]?.ports.public}`,
        `http://localhost:${system.stack.resource[0]?.ports.public}`,
      ]
      const others = serveOthers(system, places)
      const attacks = places.map((place) =>
        promisify(execFile)(
          'slowhttptest',
          [
            ...options,
            '-c',
            String(CONNECTIONS),
            '-r',
            '200',
            '-l',
            String(SECONDS),
            '-p',
            '3',
            '-v',
            '1',
            '-u',
            `${place}${path}`,
          ],
          { timeout: (SECONDS + 15) * 1_000 },
        ).catch((error: unknown) => ({ stdout: (error as { stdout?: string }).stdout ?? String(error) })),
      )
      const reports = await Promise.all(attacks)
      const served = await others.stop()
      for (const { stdout } of reports) expect(stdout).toMatch(/slow|connections|test/i)
      expect(served.total).toBeGreaterThan((SECONDS * 1_000) / PROBE_MS)
      expect(served.failed).toEqual([])
      expect(served.p99).toBeLessThan(SOON_MS)
    })
  })
}

/** Asks each place for something small, over and over, as another client does. */
function serveOthers(system: System, places: readonly string[]) {
  const times: number[] = []
  const failed: string[] = []
  let going = true
  const host = new URL(system.origin).host
  const loops = places.map(async (url, n) => {
    const sender = system.client({ url, from: '127.0.0.30' })
    const path = n === 2 ? '/api/health' : '/oauth/jwks.json'
    for await (const _tick of every(PROBE_MS)) {
      if (!going) break
      const startedAt = performance.now()
      const status = await sender.send({ path, headers: { host } }).then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      )
      times.push(performance.now() - startedAt)
      if (status !== 200) failed.push(`${url}${path}: ${status}`)
    }
  })
  return {
    async stop() {
      going = false
      await Promise.all(loops)
      const sorted = times.toSorted((a, b) => a - b)
      return { total: times.length, failed, p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
    },
  }
}
