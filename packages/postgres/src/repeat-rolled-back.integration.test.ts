import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { type Database, openPool, type Pool } from './database.ts'
import { isUnavailable } from './database-error.ts'

let database: TestDatabase
/** Has an administrator's role, because only it can lower `deadlock_timeout`. */
let admin: Pool
beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'repeats',
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

test('F-12 repeats the transaction that a deadlock rolled back, and commits both once', async () => {
  let runs = 0
  const survivor = Promise.withResolvers<void>()
  const appendToBoth = async (
    slugs: readonly [string, string],
    reportLocked: () => void,
    otherIsLocked: Promise<void>,
  ) => {
    let ownRuns = 0
    await admin.transaction(async (tx) => {
      runs += 1
      ownRuns += 1
      // Without this wait, it could lock its first row again before the survivor does, which is another deadlock.
      if (ownRuns > 1) await survivor.promise
      await tx.query(`set local deadlock_timeout = '20ms'`)
      await append(tx, slugs[0])
      reportLocked()
      await otherIsLocked
      await append(tx, slugs[1])
    })
    survivor.resolve()
  }
  const [left, right] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await Promise.all([
    appendToBoth(['left', 'right'], left.resolve, right.promise),
    appendToBoth(['right', 'left'], right.resolve, left.promise),
  ])
  expect(runs).toBe(3)
  expect(await readBodies()).toEqual(['++', '++'])
})

/**
 * Increments a counter in a transaction. In its first `conflicts` runs, another transaction changes the counter between
 * the read and the write.
 */
function incrementCount(conflicts: number) {
  const runs = { count: 0 }
  const result = admin.transaction(async (tx) => {
    runs.count += 1
    await tx.query('set transaction isolation level repeatable read')
    await tx.query(`select body from notes where slug = 'count'`)
    if (runs.count <= conflicts)
      await admin.query(`update notes set body = (body::int + 100)::text where slug = 'count'`)
    await tx.query(`update notes set body = (body::int + 1)::text where slug = 'count'`)
  })
  return { runs, result }
}
const readCount = async () =>
  Number((await admin.query<{ body: string }>(`select body from notes where slug = 'count'`)).rows[0]?.body)

test('F-12 repeats a transaction at most twice after serialization failures', async () => {
  const repeated = incrementCount(2)
  await repeated.result
  expect(repeated.runs.count).toBe(3)
  expect(await readCount()).toBe(201)
  const failing = incrementCount(Number.POSITIVE_INFINITY)
  const error = await catchError(failing.result)
  expect(error).toMatchObject({ code: '40001' })
  expect(isUnavailable(error)).toBe(true)
  expect(failing.runs.count).toBe(3)
  expect(await readCount()).toBe(501)
})

test('F-12 repeats no transaction that fails on a lock, a unique constraint or a time-out', async () => {
  const failures = [
    { code: '55P03', work: (tx: Database) => append(tx, 'left') },
    { code: '23505', work: (tx: Database) => tx.query(`insert into notes (slug, body) values ('left', '')`) },
    {
      code: '57014',
      work: (tx: Database) => tx.query(`set local statement_timeout = 1; select pg_sleep(1)`),
    },
  ]
  await admin.transaction(async (holder) => {
    await holder.query(`select from notes where slug = 'left' for update`)
    for (const { code, work } of failures.slice(0, 1)) await expectOnce(code, work)
  })
  for (const { code, work } of failures.slice(1)) await expectOnce(code, work)
})

async function expectOnce(code: string, work: (tx: Database) => Promise<unknown>): Promise<void> {
  let runs = 0
  const error = await catchError(
    admin.transaction(async (tx) => {
      runs += 1
      await work(tx)
    }),
  )
  expect(error).toMatchObject({ code })
  expect(isUnavailable(error)).toBe(code !== '23505')
  expect(runs, code).toBe(1)
}
