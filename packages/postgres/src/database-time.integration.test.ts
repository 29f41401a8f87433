import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { isClockSynchronised, openPool, type Pool, readDatabaseTime } from './database.ts'

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

test('reads the current time within a transaction, and not the time when the transaction began', async () => {
  await db.transaction(async (tx) => {
    const firstTime = await readDatabaseTime(tx)
    await tx.query('select pg_sleep(0.01)')
    expect((await readDatabaseTime(tx)).getTime()).toBeGreaterThan(firstTime.getTime())
  })
})

// The limit is 30 s. F-17 is the number of a fault in e2e/faults/fault-numbers.ts.
test.for([
  [0, true],
  [20_000, true],
  [-20_000, true],
  [60_000, false],
  [-60_000, false],
] as const)('F-17 with a clock %i ms ahead, isClockSynchronised is %s', async ([aheadMs, isSynchronised]) => {
  expect(await isClockSynchronised(db, () => Date.now() + aheadMs)).toBe(isSynchronised)
})
