import { createPostgresProcess } from '@plainpath/stack/postgres-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import { createHttpClient } from '../faults/http-client.ts'
import { SHORTEST_TIMEOUT_MS } from '../faults/judge.ts'
import type { Ledger } from '../faults/ledger.ts'
import { type Entry, type Load, startLoad } from '../faults/load.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { explainIfBusy, REPEAT_IF_BUSY } from '../faults/repeat-if-busy.ts'
import { openSystem, type System } from './open-system.ts'

/** Before a release, on a machine without other work: ROLLING_RATE=200. */
const RATE = Number(process.env['ROLLING_RATE'] ?? 40)
/** The share of requests that a busy machine may refuse after a time-out. */
const MAX_EXCUSED_SHARE = process.env['ROLLING_RATE'] ? 0 : 0.04
/** The pause between two kills, since a process is slow after its start until its code is compiled. */
const WARM_SECONDS = 5
/** A process starts within this time on a busy machine. */
const BACK_MS = 60_000

let system: System
let ledger: Ledger
let load: Load
beforeAll(async () => {
  system = await openSystem({
    limitsFactor: 100_000,
    // Longer than the gateway, which checks ten times a second, needs to notice.
    settings: { AUTH_DRAIN_DELAY_SECONDS: '4', RESOURCE_DRAIN_DELAY_SECONDS: '4' },
  })
  ledger = await prepareLedger(system.origin)
}, 120_000)
afterEach(() => load?.[Symbol.asyncDispose]())
afterAll(() => system?.[Symbol.asyncDispose](), 60_000)

const processes = () => [...system.stack.auth, ...system.stack.resource]

/** Waits until the gateway sends requests to a process that has just started. */
async function untilRequested({ ports }: RunningApp): Promise<void> {
  const canServe = async () => {
    const response = await fetch(`http://127.0.0.1:${ports.operations}/metrics`)
    return /^http_request_duration_seconds_count\{.*\} [1-9]/m.test(await response.text())
  }
  await expect.poll(canServe, { timeout: BACK_MS }).toBe(true)
}

const line = ({ operation, outcome, why = '', startedAt, endedAt }: Entry) =>
  `${operation} ${outcome} ${why} after ${Math.round(endedAt - startedAt)} ms`

const failed = () => load.entries.filter(({ outcome }) => outcome !== 'good')

/** Describes the failures that a busy machine does not explain. */
function blamed(entries: readonly Entry[]): string[] {
  const late = entries.filter(
    (each) => each.outcome === 'refused' && each.endedAt - each.startedAt >= SHORTEST_TIMEOUT_MS,
  )
  const excused = late.length <= MAX_EXCUSED_SHARE * load.entries.length ? late : []
  return entries.filter((entry) => !excused.includes(entry)).map(line)
}

function print(what: string, facts: Record<string, unknown>): void {
  const slowest = Math.max(...load.entries.map(({ startedAt, endedAt }) => endedAt - startedAt))
  const stalls = load.stalls.length
  const figures = {
    what,
    rate: RATE,
    requests: load.entries.length,
    maxResponseMs: Math.round(slowest),
    stalls,
  }
  process.stdout.write(`\n${JSON.stringify({ ...figures, ...facts })}\n`)
}

test(
  `F-19 each process restarted in turn under ${RATE} requests a second: no request fails`,
  {
    timeout: 4 * BACK_MS + 60_000,
    retry: REPEAT_IF_BUSY,
  },
  explainIfBusy(async () => {
    load = startLoad({ origin: system.origin, ledger, rate: RATE })
    await load.waitUntilSent(RATE)
    for (const app of processes()) {
      await app.stop('SIGTERM')
      expect([app.name, app.child.exitCode]).toEqual([app.name, 0])
      await app.start()
      await untilRequested(app)
    }
    await load.waitUntilSent(RATE)
    await load[Symbol.asyncDispose]()
    print('restarted in turn', { failed: failed().length, blamed: blamed(failed()).length })
    expect(blamed(failed())).toEqual([])
    expect(await checkAcknowledged(system.origin, ledger)).toEqual([])
  }),
)

test(
  `F-18 each process killed in turn under ${RATE} requests a second: only what was in flight in it fails`,
  {
    timeout: 4 * BACK_MS + 60_000,
    retry: REPEAT_IF_BUSY,
  },
  explainIfBusy(async () => {
    load = startLoad({ origin: system.origin, ledger, rate: RATE })
    await load.waitUntilSent(RATE)
    const deaths: { readonly from: number; readonly to: number }[] = []
    for (const app of processes()) {
      const from = performance.now()
      await app.stop('SIGKILL')
      deaths.push({ from, to: performance.now() })
      await load.waitUntilSent(RATE)
      await app.start()
      await untilRequested(app)
      await load.waitUntilSent(WARM_SECONDS * RATE)
    }
    await load[Symbol.asyncDispose]()
    const inFlight = ({ startedAt, endedAt, outcome }: Entry) =>
      outcome === 'refused' && deaths.some(({ from, to }) => startedAt <= to && endedAt >= from)
    const others = failed().filter((entry) => !inFlight(entry))
    print('killed in turn', {
      failed: failed().length,
      inFlight: failed().length - others.length,
      blamed: blamed(others).length,
    })
    expect(blamed(others)).toEqual([])
    expect(await checkAcknowledged(system.origin, ledger)).toEqual([])
  }),
)

test('F-36 with all stores down, all four instances are alive and report what they wait for, and serve when the stores are up', {
  timeout: 3 * BACK_MS,
}, async () => {
  const { stack, origin } = system
  const postgres = createPostgresProcess(stack.postgres)
  await Promise.all(processes().map((app) => app.stop('SIGKILL')))
  await Promise.all([postgres.stop('SIGQUIT'), stack.redis.stop('SIGKILL')])
  const started = processes().map((app) => app.start())
  const says = async ({ ports }: RunningApp, path: string) => {
    const response = await fetch(`http://127.0.0.1:${ports.operations}${path}`).catch(() => undefined)
    return response && { code: response.status, ...((await response.json()) as Record<string, unknown>) }
  }
  const all = (path: string) => Promise.all(processes().map((app) => says(app, path)))
  const [auth, api] = [{ database: 'PostgreSQL', redis: 'Redis' }, { schema: 'PostgreSQL' }]
  await expect
    .poll(() => all('/ready'), { timeout: BACK_MS })
    .toMatchObject([auth, auth, api, api].map((awaited) => ({ code: 503, awaited })))
  expect(await all('/live')).toMatchObject(processes().map(() => ({ code: 200 })))
  using client = createHttpClient(origin)
  expect((await client.send({ method: 'GET', path: '/api/guides' })).status).toBe(200)
  const refused = await client.send({ method: 'POST', path: '/oauth/token' })
  expect([refused.status, refused.header('retry-after')]).toEqual([503, '2'])

  await Promise.all([postgres.start(), stack.redis.start()])
  const back = performance.now()
  await expect
    .poll(() => all('/ready'), { timeout: BACK_MS })
    .toMatchObject(processes().map(() => ({ code: 200 })))
  const seconds = Number(((performance.now() - back) / 1000).toFixed(1))
  process.stdout.write(`\n${JSON.stringify({ what: 'everything was down', readySeconds: seconds })}\n`)
  await Promise.all(started)
  await expect
    .poll(async () => await checkAcknowledged(origin, await prepareLedger(origin)), { timeout: BACK_MS })
    .toEqual([])
})
