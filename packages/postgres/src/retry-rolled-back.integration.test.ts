import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { type Database, openPool, type Pool } from './database.ts'
import { isUnavailable } from './database-error.ts'

// F-12 is the number of a fault in e2e/faults/fault-numbers.ts.

let database: TestDatabase
/** Connects as an administrator, because only an administrator can lower `deadlock_timeout`. */
let admin: Pool
beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'retries',
  })
  admin = openPool(database.adminUrl)
  await admin.query(`insert into notes (slug, body) values ('left', ''), ('right', ''), ('count', '0')`)
})
afterAll(async () => {
  await admin?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

const append = (db: Database, slug: string) =>
  db.query(`update notes set body = body || '+' where slug = $1`, [slug])
const readBodies = async () =>
  (
    await admin.query<{ body: string }>(
      `select body from notes where slug in ('left', 'right') order by slug`,
    )
  ).rows.map(({ body }) => body)
const catchError = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error as Error,
  )

test('F-12 retries the transaction that a deadlock rolled back, and commits both transactions once', async () => {
  let runCount = 0
  const survivor = Promise.withResolvers<void>()
  const appendToBoth = async (
    slugs: readonly [string, string],
    reportLocked: () => void,
    otherIsLocked: Promise<void>,
  ) => {
    let ownRunCount = 0
    await admin.transaction(async (tx) => {
      runCount += 1
      ownRunCount += 1
      // Without this wait, the retry could lock its first row before the survivor does: another deadlock.
      if (ownRunCount > 1) await survivor.promise
      await tx.query(`set local deadlock_timeout = '20ms'`)
      await append(tx, slugs[0])
      reportLocked()
      await otherIsLocked
      await append(tx, slugs[1])
    })
    survivor.resolve()
  }
  const leftLock = Promise.withResolvers<void>()
  const rightLock = Promise.withResolvers<void>()
  await Promise.all([
    appendToBoth(['left', 'right'], leftLock.resolve, rightLock.promise),
    appendToBoth(['right', 'left'], rightLock.resolve, leftLock.promise),
  ])
  expect(runCount).toBe(3)
  expect(await readBodies()).toEqual(['++', '++'])
})

/**
 * Increments a counter in a transaction. In the first `conflictCount` runs of the transaction, another transaction adds 100
 * to the counter between the read and the write.
 */
function incrementCount(conflictCount: number) {
  const runs = { count: 0 }
  const completion = admin.transaction(async (tx) => {
    runs.count += 1
    await tx.query('set transaction isolation level repeatable read')
    await tx.query(`select body from notes where slug = 'count'`)
    if (runs.count <= conflictCount)
      await admin.query(`update notes set body = (body::int + 100)::text where slug = 'count'`)
    await tx.query(`update notes set body = (body::int + 1)::text where slug = 'count'`)
  })
  return { runs, completion }
}
const readCount = async () =>
  Number((await admin.query<{ body: string }>(`select body from notes where slug = 'count'`)).rows[0]?.body)

test('F-12 retries a transaction at most twice after serialization failures', async () => {
  const retried = incrementCount(2)
  await retried.completion
  expect(retried.runs.count).toBe(3)
  // Two conflicts added 100 each, and the last run added 1.
  expect(await readCount()).toBe(201)
  const failing = incrementCount(Number.POSITIVE_INFINITY)
  const error = await catchError(failing.completion)
  expect(error).toMatchObject({ code: '40001' })
  expect(isUnavailable(error)).toBe(true)
  expect(failing.runs.count).toBe(3)
  // Three more conflicts, and no increment.
  expect(await readCount()).toBe(501)
})

test('F-12 retries no transaction that fails on a lock, a unique constraint or a time-out', async () => {
  const failures = [
    { code: '55P03', work: (tx: Database) => append(tx, 'left') },
    { code: '23505', work: (tx: Database) => tx.query(`insert into notes (slug, body) values ('left', '')`) },
    {
      code: '57014',
      work: (tx: Database) => tx.query(`set local statement_timeout = 1; select pg_sleep(1)`),
    },
  ]
  const [lockFailure, ...otherFailures] = failures
  await admin.transaction(async (lockHolder) => {
    await lockHolder.query(`select from notes where slug = 'left' for update`)
    if (lockFailure) await expectOneRun(lockFailure.code, lockFailure.work)
  })
  for (const { code, work } of otherFailures) await expectOneRun(code, work)
})

/** Expects that a transaction that does `work` runs once and fails with `code`. */
async function expectOneRun(code: string, work: (tx: Database) => Promise<unknown>): Promise<void> {
  let runCount = 0
  const error = await catchError(
    admin.transaction(async (tx) => {
      runCount += 1
      await work(tx)
    }),
  )
  expect(error).toMatchObject({ code })
  expect(isUnavailable(error)).toBe(code !== '23505')
  expect(runCount, code).toBe(1)
}
