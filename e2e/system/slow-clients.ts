import { execFile } from 'node:child_process'
import { setInterval as every } from 'node:timers/promises'
import { promisify, stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { System } from './open-system.ts'

const CONNECTION_COUNT = 200
const ATTACK_SECONDS = 14
/** The interval between the requests that another client sends to each server. */
const PROBE_MS = 50
/** Enough requests for a 99th percentile. A busy machine sends fewer than one in each interval. */
const MIN_PROBES = 100
/** The bound for the 99th percentile of the times until a response to another client. */
const MAX_P99_MS = 1_000

/** Options of `slowhttptest`: the connections, their rate, the duration, the time-out of its probe, and its log level. */
const LOAD_OPTIONS = [
  '-c',
  String(CONNECTION_COUNT),
  '-r',
  '200',
  '-l',
  String(ATTACK_SECONDS),
  '-p',
  '3',
  '-v',
  '1',
]

/**
 * The attacks, each with its options of `slowhttptest`, and with its paths at the gateway, an auth process and an API
 * process. `-H`, `-B` and `-X` select slow headers, slow bodies and slow reading.
 *
 * Slow headers and bodies: `-i` is the interval between two pieces in seconds, `-x` the maximum size of a piece, `-s` the
 * Content-Length, and `-f` the Content-Type. Slow reading: every `-n` seconds, `-z` bytes are read; the advertised TCP window is
 * between `-w` and `-y` bytes; `-k` requests are sent on each connection.
 */
const ATTACKS = [
  {
    name: 'headers',
    options: ['-H', '-i', '1', '-x', '24'],
    paths: ['/api/health', '/auth.md', '/api/health'],
  },
  {
    name: 'bodies',
    options: ['-B', '-i', '1', '-s', '8192', '-x', '10', '-f', 'application/json'],
    paths: ['/api/waitlist', '/api/agent/register', '/api/waitlist'],
  },
  {
    name: 'reading',
    options: ['-X', '-n', '1', '-w', '1', '-y', '10', '-z', '4', '-k', '3'],
    paths: ['/api/guides', '/auth.md', '/api/guides'],
  },
] as const

/** Tests that other clients are served while `slowhttptest` attacks the gateway and one process of each app simultaneously. */
export function describeSlowClients(getSystem: () => System): void {
  // The attacks overlap, so up to three times as many connections are slow. Vitest runs at most five concurrent tests at a time.
  describe.concurrent(`while an attack keeps ${CONNECTION_COUNT} connections to each server slow for ${ATTACK_SECONDS} s, other clients are served:`, () => {
    test.for(ATTACKS)('slow $name', { timeout: 60_000 }, async ({ name, options, paths }) => {
      const system = getSystem()
      const ports = [system.stack.auth[0]?.ports.public, system.stack.resource[0]?.ports.public]
      const probes = probeServers(system, [system.origin, ...ports.map((port) => `http://127.0.0.1:${port}`)])
      // The apps reject any Host but the gateway's, so `slowhttptest` requests the gateway's URL and uses each app as its HTTP proxy.
      const proxyOptions = [[], ...ports.map((port) => ['-d', `localhost:${port}`])]
      const attacks = proxyOptions.map((proxyOption, index) =>
        promisify(execFile)(
          'slowhttptest',
          [...options, ...proxyOption, ...LOAD_OPTIONS, '-u', `${system.origin}${paths[index]}`],
          { timeout: (ATTACK_SECONDS + 15) * 1_000 },
          // The program may end with an error status, or be stopped by the time-out. Its report is judged anyway.
        ).catch((error: unknown) => ({ stdout: (error as { stdout?: string }).stdout ?? String(error) })),
      )
      const reports = await Promise.all(attacks)
      const probeResult = await probes.stop()
      const clientReports = reports.map(({ stdout }) => parseReport(stdout))
      process.stdout.write(
        `slow ${name}: ${JSON.stringify({ ...probeResult, failed: probeResult.failed.length, clientReports })}\n`,
      )
      for (const report of clientReports) {
        expect(report).toMatchObject({ connected: CONNECTION_COUNT, available: 'YES' })
        // Servers close a connection whose headers take longer than 10 s, so no connection is open at the end. The limits for bodies
        // are longer than the attack.
        if (name === 'headers') expect(report.ended).toBe('No open connections left')
      }
      expect(probeResult.total).toBeGreaterThan(MIN_PROBES)
      expect(probeResult.failed).toEqual([])
      expect(probeResult.p99).toBeLessThan(MAX_P99_MS)
    })
  })
}

/** Parses the output of `slowhttptest`: its connections, and its own probe of the server. */
function parseReport(stdout: string) {
  const findValues = (name: string) =>
    [...stripVTControlCharacters(stdout).matchAll(new RegExp(`^${name}: +(\\w+)`, 'gm'))].map(
      ([, value]) => value,
    )
  const findFirstNonZero = (name: string) => findValues(name).find((value) => value !== '0')
  return {
    /** The first report with connections. At that time, none has timed out. */
    connected: Number(findFirstNonZero('connected')),
    available: findValues('service available').at(-1),
    ended: /^Exit status: (.+)$/m.exec(stripVTControlCharacters(stdout))?.[1]?.trim(),
  }
}

/** Sends a small request to each server repeatedly, as another client would. */
function probeServers(system: System, urls: readonly string[]) {
  const times: number[] = []
  const failed: string[] = []
  let isRunning = true
  const host = new URL(system.origin).host
  const loops = urls.map(async (url, index) => {
    const sender = system.createSender({ url, from: '127.0.0.30' })
    // The third server is an API process, which does not serve the key set.
    const path = index === 2 ? '/api/health' : '/oauth/jwks.json'
    for await (const _tick of every(PROBE_MS)) {
      if (!isRunning) break
      const startedAt = performance.now()
      const status = await sender.send({ path, headers: { host } }).then(
        (response) => response.status,
        (error: unknown) => String(error),
      )
      times.push(performance.now() - startedAt)
      if (status !== 200) failed.push(`${url}${path}: ${status}`)
    }
  })
  return {
    async stop() {
      isRunning = false
      await Promise.all(loops)
      const sortedTimes = times.toSorted((a, b) => a - b)
      return { total: times.length, failed, p99: sortedTimes[Math.floor(sortedTimes.length * 0.99)] ?? 0 }
    },
  }
}
