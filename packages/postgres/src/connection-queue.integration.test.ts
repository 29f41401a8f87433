import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTcpProxy } from '../test/tcp-proxy.ts'
import { openTestDatabase, type TestDatabase, withAdmin } from '../test/test-database.ts'
import { ConnectionQueueFullError } from './connection-queue.ts'
import { openPool, type Pool } from './database.ts'
import { isUnavailable } from './database-error.ts'
import { createReservedPool } from './reserved-pool.ts'

// The numbers in the titles, such as F-02, are those of the faults in e2e/faults/fault-numbers.ts.

const CONNECTIONS = 2
/** Two for each connection. */
const MAX_WAITING = 4

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'waiting',
  })
})
afterAll(() => database?.[Symbol.asyncDispose]())

interface Outcome {
  /** The time until the work succeeded or failed. */
  readonly ms: number
  /** Undefined if the work succeeded. */
  readonly error: unknown
}

async function measureOutcome(work: () => Promise<unknown>): Promise<Outcome> {
  const startedAt = performance.now()
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { ms: performance.now() - startedAt, error }
}
const measureQuery = (pool: Pool) => measureOutcome(() => pool.query('select 1'))
const measureQueries = (pool: Pool, count: number) =>
  Promise.all(Array.from({ length: count }, () => measureQuery(pool)))

/**
 * Checks that of 50 simultaneous requests only a few wait, that 20 later ones are refused immediately, and that each of the 50
 * fails in the end.
 */
async function expectNoPileUp(pool: Pool): Promise<void> {
  const earlyRequests = measureQueries(pool, 50)
  await vi.waitFor(
    () => expect(pool.getUsage()).toMatchObject({ inUse: CONNECTIONS, waiting: MAX_WAITING }),
    {
      interval: 5,
    },
  )
  const { shed } = pool.getUsage()
  expect(shed).toBeGreaterThanOrEqual(50 - CONNECTIONS - MAX_WAITING)
  const lateOutcomes = await measureQueries(pool, 20)
  expect(pool.getUsage()).toMatchObject({ waiting: MAX_WAITING, shed: shed + 20 })
  for (const { ms, error } of lateOutcomes) {
    expect(error).toBeInstanceOf(ConnectionQueueFullError)
    expect(isUnavailable(error)).toBe(true)
    // A request that waits is refused only after a second.
    expect(ms).toBeLessThan(800)
  }
  for (const { error } of await earlyRequests) expect(isUnavailable(error)).toBe(true)
}

test('F-02 lets two requests wait for each connection to a frozen server, and refuses the others', async () => {
  await using proxy = await startTcpProxy(database.appUrl)
  await using pool = openPool(proxy.url, { max: CONNECTIONS })
  await pool.query('select 1')
  proxy.silence()
  await expectNoPileUp(pool)
  proxy.resume()
  await vi.waitFor(async () => expect((await measureQuery(pool)).error).toBeUndefined(), { timeout: 5_000 })
  for (const { error } of await measureQueries(pool, 50)) expect(error).toBeUndefined()
})

test('F-11 lets two requests wait for each connection while all are in use, and refuses the others', async () => {
  await using pool = openPool(database.appUrl, { max: CONNECTIONS })
  // 1.6 s is longer than the 1 s for which a request waits, and shorter than the 2 s that a statement may take.
  const longQueries = Promise.all(
    Array.from({ length: CONNECTIONS }, () => pool.query('select pg_sleep(1.6)').then(() => undefined)),
  )
  await expectNoPileUp(pool)
  await longQueries
  for (const { error } of await measureQueries(pool, 50)) expect(error).toBeUndefined()
})

test('serves every request of a burst while the server works', async () => {
  await using pool = openPool(database.appUrl, { max: CONNECTIONS, patience: 10 })
  for (const { error } of await measureQueries(pool, 60)) expect(error).toBeUndefined()
  expect(pool.getUsage()).toMatchObject({ inUse: 0, waiting: 0, shed: 0 })
})

const readApplicationName = async (pool: Pick<Pool, 'query'>) =>
  (await pool.query<{ name: string }>(`select current_setting('application_name') as name`)).rows[0]?.name

test('F-11 runs reserved work while other work fills the pool, and on shared connections while they are idle', async () => {
  const open = (applicationName: string) => openPool(database.appUrl, { max: 1, applicationName })
  await using pool = createReservedPool(open('shared'), open('reserved'))
  await pool.openReserved()
  expect(pool.getUsage()).toEqual({ inUse: 0, idle: 1, waiting: 0, shed: 0, failed: 0, max: 2, open: 1 })
  expect(await readApplicationName(pool)).toBe('shared')
  await pool.transaction(async (tx) => {
    expect(await readApplicationName(tx)).toBe('shared')
    expect(await pool.runReserved(() => readApplicationName(pool))).toBe('reserved')
    expect(pool.isReserved()).toBe(false)
    expect((await measureQuery(pool)).error).toMatchObject({
      message: 'timeout exceeded when trying to connect',
    })
  })
  await pool.runReserved(() =>
    pool.transaction(async (tx) => {
      expect(pool.isReserved()).toBe(true)
      expect(await readApplicationName(tx)).toBe('reserved')
      expect(await readApplicationName(pool)).toBe('shared')
    }),
  )
})

const runAsAdmin = (sql: string) => withAdmin(database.adminUrl, (admin) => admin.query(sql))

test('F-11 makes reserved work wait for the reserved connections when the server has none left (53300)', async () => {
  const reserve = openPool(database.appUrl, {
    max: 2,
    keepIdleConnections: true,
    applicationName: 'reserved',
  })
  await using pool = createReservedPool(openPool(database.appUrl, { max: 3 }), reserve)
  await pool.openReserved()
  // Now the server refuses every new connection of the app's role with 53300. The open connections stay.
  await runAsAdmin(`alter database "${database.name}" connection limit 0`)
  try {
    const sleep = () => pool.query('select pg_sleep(0.02)')
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => pool.runReserved(() => measureOutcome(sleep))),
    )
    expect(outcomes.map(({ error }) => error)).toEqual(outcomes.map(() => undefined))
  } finally {
    await runAsAdmin(`alter database "${database.name}" connection limit -1`)
  }
})

test('F-11 reopens reserved connections that are lost before they are needed', async () => {
  const reserve = openPool(database.appUrl, {
    max: 2,
    keepIdleConnections: true,
    applicationName: 'reserved',
  })
  await using pool = createReservedPool(openPool(database.appUrl, { max: 3 }), reserve, {
    reopenIntervalMs: 20,
  })
  await pool.openReserved()
  const readPids = async () => {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'reserved' and datname = current_database() order by 1`,
    )
    return rows.map(({ pid }) => pid)
  }
  const pidsBefore = await readPids()
  expect(pidsBefore).toHaveLength(2)
  await runAsAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reserved' and datname = current_database()`,
  )
  await vi.waitFor(
    async () => {
      const currentPids = await readPids()
      expect(currentPids).toHaveLength(2)
      expect(currentPids.filter((pid) => pidsBefore.includes(pid))).toEqual([])
    },
    { timeout: 5_000 },
  )
})
