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

/*
 * Tests the service while its processes restart, are killed, or start without their stores. The numbers in the titles, such as
 * F-19, are those of `e2e/faults/fault-numbers.ts`.
 */

/** The number of requests per second. Before a release, run the tests with ROLLING_RATE=200 on a machine without other work. */
const RATE = Number(process.env['ROLLING_RATE'] ?? 40)
/**
 * The share of requests that may be refused after a time-out, because the machine may be busy. None may be refused if the rate
 * is set, because the machine then does no other work.
 */
const MAX_EXCUSED_SHARE = process.env['ROLLING_RATE'] ? 0 : 0.04
/** The pause before the next kill. A process that has just started is slow until V8 has compiled its hot code. */
const WARM_UP_SECONDS = 5
/** The maximum time until a process serves requests, on a busy machine. */
const MAX_START_MS = 60_000

let system: System
let ledger: Ledger
let load: Load
beforeAll(async () => {
  system = await openSystem({
    limitsFactor: 100_000,
    // The gateway checks each instance ten times a second. In 4 s it notices a stopping instance even on a busy machine.
    settings: { AUTH_DRAIN_DELAY_SECONDS: '4', RESOURCE_DRAIN_DELAY_SECONDS: '4' },
  })
  ledger = await prepareLedger(system.origin)
}, 120_000)
afterEach(() => load?.[Symbol.asyncDispose]())
afterAll(() => system?.[Symbol.asyncDispose](), 60_000)

const listProcesses = () => [...system.stack.auth, ...system.stack.resource]

/** Waits until a process that has just started has served a request. */
async function waitForFirstRequest({ ports }: RunningApp): Promise<void> {
  const hasServed = async () => {
    const response = await fetch(`http://127.0.0.1:${ports.operations}/metrics`)
    return /^http_request_duration_seconds_count\{.*\} [1-9]/m.test(await response.text())
  }
  await expect.poll(hasServed, { timeout: MAX_START_MS }).toBe(true)
}

const formatEntry = ({ operation, outcome, mistake = '', startedAt, endedAt }: Entry) =>
  `${operation} ${outcome} ${mistake} after ${Math.round(endedAt - startedAt)} ms`

/** Lists the requests that were refused, or got a wrong response or none. */
const listFailed = () => load.entries.filter(({ outcome }) => outcome !== 'good')

/**
 * Describes the failures, except refusals after a time-out, which a busy machine explains. If their share exceeds
 * `MAX_EXCUSED_SHARE`, describes them too.
 */
function describeUnexcused(entries: readonly Entry[]): string[] {
  const timeoutRefusals = entries.filter(
    ({ outcome, startedAt, endedAt }) => outcome === 'refused' && endedAt - startedAt >= SHORTEST_TIMEOUT_MS,
  )
  const excused = timeoutRefusals.length <= MAX_EXCUSED_SHARE * load.entries.length ? timeoutRefusals : []
  return entries.filter((entry) => !excused.includes(entry)).map(formatEntry)
}

/** Prints the figures of the load as a line of JSON. */
function printFigures(title: string, additionalFigures: Record<string, unknown>): void {
  const slowest = Math.max(...load.entries.map(({ startedAt, endedAt }) => endedAt - startedAt))
  const stalls = load.stalls.length
  const figures = {
    what: title,
    rate: RATE,
    requests: load.entries.length,
    maxResponseMs: Math.round(slowest),
    stalls,
  }
  process.stdout.write(`\n${JSON.stringify({ ...figures, ...additionalFigures })}\n`)
}

test(
  `F-19 each process restarted in turn under ${RATE} requests a second: no request fails`,
  {
    timeout: 4 * MAX_START_MS + 60_000,
    retry: REPEAT_IF_BUSY,
  },
  explainIfBusy(async () => {
    load = startLoad({ origin: system.origin, ledger, rate: RATE })
    // `RATE` requests take a second.
    await load.waitUntilSent(RATE)
    for (const app of listProcesses()) {
      await app.stop('SIGTERM')
      expect([app.name, app.child.exitCode]).toEqual([app.name, 0])
      await app.start()
      await waitForFirstRequest(app)
    }
    await load.waitUntilSent(RATE)
    await load[Symbol.asyncDispose]()
    const unexcused = describeUnexcused(listFailed())
    printFigures('restarted in turn', { failed: listFailed().length, unexcused: unexcused.length })
    expect(unexcused).toEqual([])
    expect(await checkAcknowledged(system.origin, ledger)).toEqual([])
  }),
)

test(
  `F-18 each process killed in turn under ${RATE} requests a second: only requests in flight fail`,
  {
    timeout: 4 * MAX_START_MS + 60_000,
    retry: REPEAT_IF_BUSY,
  },
  explainIfBusy(async () => {
    load = startLoad({ origin: system.origin, ledger, rate: RATE })
    await load.waitUntilSent(RATE)
    const kills: { readonly from: number; readonly to: number }[] = []
    for (const app of listProcesses()) {
      const from = performance.now()
      await app.stop('SIGKILL')
      kills.push({ from, to: performance.now() })
      await load.waitUntilSent(RATE)
      await app.start()
      await waitForFirstRequest(app)
      await load.waitUntilSent(WARM_UP_SECONDS * RATE)
    }
    await load[Symbol.asyncDispose]()
    const wasRefusedInFlight = ({ startedAt, endedAt, outcome }: Entry) =>
      outcome === 'refused' && kills.some(({ from, to }) => startedAt <= to && endedAt >= from)
    const otherFailures = listFailed().filter((entry) => !wasRefusedInFlight(entry))
    const unexcused = describeUnexcused(otherFailures)
    printFigures('killed in turn', {
      failed: listFailed().length,
      inFlight: listFailed().length - otherFailures.length,
      unexcused: unexcused.length,
    })
    expect(unexcused).toEqual([])
    expect(await checkAcknowledged(system.origin, ledger)).toEqual([])
  }),
)

test('F-36 instances that start while all stores are down are live, name the missing stores, and become ready once the stores start', {
  timeout: 3 * MAX_START_MS,
}, async () => {
  const { stack, origin } = system
  const postgres = createPostgresProcess(stack.postgres)
  await Promise.all(listProcesses().map((app) => app.stop('SIGKILL')))
  await Promise.all([postgres.stop('SIGQUIT'), stack.redis.stop('SIGKILL')])
  // The starts of auth resolve only after the stores have started, so the test awaits all starts at its end.
  const pendingStarts = listProcesses().map((app) => app.start())
  const readStatus = async ({ ports }: RunningApp, path: string) => {
    const response = await fetch(`http://127.0.0.1:${ports.operations}${path}`).catch(() => undefined)
    return response && { code: response.status, ...((await response.json()) as Record<string, unknown>) }
  }
  const readAllStatuses = (path: string) => Promise.all(listProcesses().map((app) => readStatus(app, path)))
  const awaitedByAuth = { database: 'PostgreSQL', redis: 'Redis' }
  const awaitedByApi = { schema: 'PostgreSQL' }
  const expectedAwaited = [awaitedByAuth, awaitedByAuth, awaitedByApi, awaitedByApi]
  await expect
    .poll(() => readAllStatuses('/ready'), { timeout: MAX_START_MS })
    .toMatchObject(expectedAwaited.map((awaited) => ({ code: 503, awaited })))
  expect(await readAllStatuses('/live')).toMatchObject(listProcesses().map(() => ({ code: 200 })))
  using client = createHttpClient(origin)
  expect((await client.send({ method: 'GET', path: '/api/guides' })).status).toBe(200)
  // Auth does not listen yet, so the gateway responds.
  const refusal = await client.send({ method: 'POST', path: '/oauth/token' })
  expect([refusal.status, refusal.header('retry-after')]).toEqual([503, '2'])

  await Promise.all([postgres.start(), stack.redis.start()])
  const storesStartedAt = performance.now()
  await expect
    .poll(() => readAllStatuses('/ready'), { timeout: MAX_START_MS })
    .toMatchObject(listProcesses().map(() => ({ code: 200 })))
  const seconds = Number(((performance.now() - storesStartedAt) / 1000).toFixed(1))
  process.stdout.write(`\n${JSON.stringify({ what: 'everything was down', readySeconds: seconds })}\n`)
  await Promise.all(pendingStarts)
  // The system accepts new changes, and they are stored. Each poll makes its own.
  await expect
    .poll(async () => await checkAcknowledged(origin, await prepareLedger(origin)), { timeout: MAX_START_MS })
    .toEqual([])
})
