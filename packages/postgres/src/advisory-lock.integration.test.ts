import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { holdLock, takeLock } from './advisory-lock.ts'
import { connect, disconnect } from './connection.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'lock',
  })
})
afterAll(() => database?.[Symbol.asyncDispose]())

test('gives a lock to one session at a time, and locks of other names to other sessions', async () => {
  const firstLock = await holdLock(database.appUrl, 'the data directory')
  expect(firstLock).toBeDefined()
  expect(await holdLock(database.appUrl, 'the data directory')).toBeUndefined()
  await using otherLock = await holdLock(database.appUrl, 'another data directory')
  expect(otherLock).toBeDefined()
  await firstLock?.[Symbol.asyncDispose]()
  await using secondLock = await holdLock(database.appUrl, 'the data directory')
  expect(secondLock).toBeDefined()
})

test('releases a lock when its connection is lost', async () => {
  await using firstLock = await holdLock(database.appUrl, 'lost')
  expect(firstLock).toBeDefined()
  const admin = await connect(database.adminUrl, { applicationName: 'test', patience: 10 })
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'plainpath lock' and datname = current_database()`)
  await disconnect(admin)
  await vi.waitFor(async () => {
    await using secondLock = await holdLock(database.appUrl, 'lost')
    expect(secondLock).toBeDefined()
  })
})

test('waits for a lock for a limited time', async () => {
  await using heldLock = await holdLock(database.appUrl, 'busy')
  expect(heldLock).toBeDefined()
  const client = await connect(database.appUrl, { applicationName: 'test', patience: 10 })
  await expect(takeLock(client, 'busy', 0.1)).rejects.toThrow('waited 0.1 s for the lock "busy"')
  await disconnect(client)
})
