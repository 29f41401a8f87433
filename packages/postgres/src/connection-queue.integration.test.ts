import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTcpProxy } from '../test/tcp-proxy.ts'
import { openTestDatabase, type TestDatabase, withAdmin } from '../test/test-database.ts'
import { ConnectionQueueFullError } from './connection-queue.ts'
import { openPool, type Pool } from './database.ts'
import { isUnavailable } from './database-error.ts'
import { createReservedPool } from './reserved-pool.ts'

const PLACES = 2
/** Two for each place. */
const MOST_WAITING = 4

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'waiting',
  })
})
afterAll(() => database?.[Symbol.asyncDispose]())

interface Outcome {
  readonly ms: number
  readonly error: unknown
}

async function timed(work: () => Promise<unknown>): Promise<Outcome> {
  const startedAt = performance.now()
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { ms: performance.now() - startedAt, error }
}
const ask = (pool: Pool) => timed(() => pool.query('select 1'))
const queryTimes = (pool: Pool, times: number) => Promise.all(Array.from({ length: times }, () => ask(pool)))

/** Many requests arrive at once. Few may wait, and later ones are refused at once. */
async function expectNoPileUp(pool: Pool): Promise<void> {
  const many = queryTimes(pool, 50)
  await vi.waitFor(() => expect(pool.usage()).toMatchObject({ inUse: PLACES, waiting: MOST_WAITING }), {
    interval: 5,
  })
  const { shed } = pool.usage()
  expect(shed).toBeGreaterThanOrEqual(50 - PLACES - MOST_WAITING)
  const late = await queryTimes(pool, 20)
  expect(pool.usage()).toMatchObject({ waiting: MOST_WAITING, shed: shed + 20 })
  for (const { ms, error } of late) {
    expect(error).toBeInstanceOf(ConnectionQueueFullError)
    expect(isUnavailable(error)).toBe(true)
    // One that waits does so for a second before it is refused.
    expect(ms).toBeLessThan(800)
  }
  for (const { error } of await many) expect(isUnavailable(error)).toBe(true)
}

test('F-02 lets two requests wait for each connection to a frozen server, and refuses others at once', async () => {
  await using proxy = await startTcpProxy(database.appUrl)
  await using pool = openPool(proxy.url, { max: PLACES })
  await pool.query('select 1')
  proxy.silence()
  await expectNoPileUp(pool)
  proxy.resume()
  await vi.waitFor(async () => expect((await ask(pool)).error).toBeUndefined(), { timeout: 5_000 })
  for (const { error } of await queryTimes(pool, 50)) expect(error).toBeUndefined()
})

test('F-11 lets two requests wait for each connection while all are in use, and refuses others at once', async () => {
  await using pool = openPool(database.appUrl, { max: PLACES })
  const busy = Promise.all(
    Array.from({ length: PLACES }, () => pool.query('select pg_sleep(1.6)').then(() => undefined)),
  )
  await expectNoPileUp(pool)
  await busy
  for (const { error } of await queryTimes(pool, 50)) expect(error).toBeUndefined()
})

test('serves a burst to the end while the server works', async () => {
  await using pool = openPool(database.appUrl, { max: PLACES, patience: 10 })
  for (const { error } of await queryTimes(pool, 60)) expect(error).toBeUndefined()
  expect(pool.usage()).toMatchObject({ inUse: 0, waiting: 0, shed: 0 })
})

const who = async (pool: Pick<Pool, 'query'>) =>
  (await pool.query<{ name: string }>(`select current_setting('application_name') as name`)).rows[0]?.name

test('F-11 runs reserved work while other work fills the pool, and lets it use free connections of the pool', async () => {
  const open = (applicationName: string) => openPool(database.appUrl, { max: 1, applicationName })
  await using pool = createReservedPool(open('common'), open('kept'))
  await pool.openReserved()
  expect(pool.usage()).toEqual({ inUse: 0, idle: 1, waiting: 0, shed: 0, failed: 0, max: 2, open: 1 })
  expect(await who(pool)).toBe('common')
  await pool.transaction(async (tx) => {
    expect(await who(tx)).toBe('common')
    expect(await pool.runReserved(() => who(pool))).toBe('kept')
    expect(pool.isReserved()).toBe(false)
    expect((await ask(pool)).error).toMatchObject({ message: 'timeout exceeded when trying to connect' })
  })
  await pool.runReserved(() =>
    pool.transaction(async (tx) => {
      expect(pool.isReserved()).toBe(true)
      expect(await who(tx)).toBe('kept')
      expect(await who(pool)).toBe('common')
    }),
  )
})

const asAdmin = (sql: string) => withAdmin(database.adminUrl, (admin) => admin.query(sql))

test('F-11 makes reserved work wait for the reserved connections when the server has none left (53300)', async () => {
  const keep = openPool(database.appUrl, { max: 2, keepIdleConnections: true, applicationName: 'kept' })
  await using pool = createReservedPool(openPool(database.appUrl, { max: 3 }), keep)
  await pool.openReserved()
  await asAdmin(`alter database "${database.name}" connection limit 0`)
  try {
    const sleep = () => pool.query('select pg_sleep(0.02)')
    const timings = await Promise.all(Array.from({ length: 6 }, () => pool.runReserved(() => timed(sleep))))
    expect(timings.map(({ error }) => error)).toEqual(timings.map(() => undefined))
  } finally {
    await asAdmin(`alter database "${database.name}" connection limit -1`)
  }
})

test('F-11 reopens reserved connections that are lost before they are needed', async () => {
  const keep = openPool(database.appUrl, { max: 2, keepIdleConnections: true, applicationName: 'kept' })
  await using pool = createReservedPool(openPool(database.appUrl, { max: 3 }), keep, { reopenIntervalMs: 20 })
  await pool.openReserved()
  const pids = async () => {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'kept' and datname = current_database() order by 1`,
    )
    return rows.map(({ pid }) => pid)
  }
  const before = await pids()
  expect(before).toHaveLength(2)
  await asAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kept' and datname = current_database()`,
  )
  await vi.waitFor(
    async () => {
      const now = await pids()
      expect(now).toHaveLength(2)
      expect(now.filter((pid) => before.includes(pid))).toEqual([])
    },
    { timeout: 5_000 },
  )
})
