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

test('gives a lock to one holder, other locks to others, and a released lock to the next', async () => {
  const first = await holdLock(database.appUrl, 'the data directory')
  expect(first).toBeDefined()
  expect(await holdLock(database.appUrl, 'the data directory')).toBeUndefined()
  await using other = await holdLock(database.appUrl, 'another data directory')
  expect(other).toBeDefined()
  await first?.[Symbol.asyncDispose]()
  await using second = await holdLock(database.appUrl, 'the data directory')
  expect(second).toBeDefined()
})

test('releases a lock when its connection is lost', async () => {
  await using first = await holdLock(database.appUrl, 'lost')
  expect(first).toBeDefined()
  const admin = await connect(database.adminUrl, { applicationName: 'test', patience: 10 })
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'plainpath lock' and datname = current_database()`)
  await disconnect(admin)
  await vi.waitFor(async () => {
    await using second = await holdLock(database.appUrl, 'lost')
    expect(second).toBeDefined()
  })
})

test('waits for a lock for a limited time', async () => {
  await using held = await holdLock(database.appUrl, 'busy')
  expect(held).toBeDefined()
  const client = await connect(database.appUrl, { applicationName: 'test', patience: 10 })
  await expect(takeLock(client, 'busy', 0.1)).rejects.toThrow('waited 0.1 s for the lock "busy"')
  await disconnect(client)
})
