import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { clockAgrees, databaseTime, openPool, type Pool } from './database.ts'

let database: TestDatabase
let db: Pool
beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'time',
  })
  db = openPool(database.appUrl, { patience: 10 })
})
afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

test('the time is now, also within a transaction', async () => {
  await db.transaction(async (tx) => {
    const first = await databaseTime(tx)
    await tx.query('select pg_sleep(0.01)')
    expect((await databaseTime(tx)).getTime()).toBeGreaterThan(first.getTime())
  })
})

test.for([
  [0, true],
  [20_000, true],
  [-20_000, true],
  [60_000, false],
  [-60_000, false],
] as const)('F-17 a clock that is %i ms ahead agrees: %s', async ([ahead, agrees]) => {
  expect(await clockAgrees(db, () => Date.now() + ahead)).toBe(agrees)
})
