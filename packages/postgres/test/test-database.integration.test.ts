import path from 'node:path'
import { expect, inject, test } from 'vitest'
import { connect, disconnect } from '../src/connection.ts'
import { openPool } from '../src/database.ts'
import { openTestDatabase, type TestDatabase } from './test-database.ts'
import { beginTestRun, nameInRun } from './test-run.ts'

const folder = path.join(import.meta.dirname, 'migrations')

async function databases(like: string): Promise<string[]> {
  const admin = await connect(inject('testPostgres').adminUrl, { applicationName: 'test', patience: 10 })
  const { rows } = await admin.query<{ datname: string }>(
    'select datname from pg_database where datname like $1',
    [like],
  )
  await disconnect(admin)
  return rows.map(({ datname }) => datname)
}

async function asAdmin({ adminUrl }: TestDatabase, query: string): Promise<Record<string, unknown>> {
  const admin = await connect(adminUrl, { applicationName: 'test', patience: 10 })
  const { rows } = await admin.query<Record<string, unknown>>(query)
  await disconnect(admin)
  return rows[0] ?? {}
}

test('each database is migrated and separate, its roles are the lesser ones', async () => {
  await using one = await openTestDatabase({ folder, name: 'copies' })
  await using other = await openTestDatabase({ folder, name: 'copies' })
  await using first = openPool(one.appUrl, { patience: 10 })
  await using second = openPool(other.appUrl, { patience: 10 })
  await first.query(`insert into notes (slug) values ('mine')`)
  expect((await second.query('select * from notes')).rows).toEqual([])
  await expect(first.query('create table mine ()')).rejects.toMatchObject({ code: '42501' })
  await using owner = openPool(one.ownerUrl, { patience: 10 })
  await owner.query('create table ours ()')
})

test('many at once share one template', async () => {
  await using opened = new AsyncDisposableStack()
  const testDatabases = await Promise.all(
    Array.from({ length: 4 }, () => openTestDatabase({ folder, name: 'crowd' })),
  )
  for (const database of testDatabases) opened.use(database)
  expect(new Set(testDatabases.map(({ name }) => name)).size).toBe(4)
  expect(await databases(nameInRun(inject('testPostgres').runId, 'crowd', 'template%'))).toHaveLength(1)
})

test('disposing takes the database away, even one in use', async () => {
  const database = await openTestDatabase({ folder, name: 'gone' })
  await using pool = openPool(database.appUrl, { patience: 10 })
  await pool.query('select 1')
  await database[Symbol.asyncDispose]()
  await expect.poll(() => databases(database.name)).toEqual([])
})

test('resets a database before another test gets it', async () => {
  const before = await openTestDatabase({ folder, name: 'again' })
  const { oid } = await asAdmin(before, 'select oid from pg_database where datname = current_database()')
  await asAdmin(before, `insert into notes (slug) values ('mine')`)
  await before[Symbol.asyncDispose]()
  await using after = await openTestDatabase({ folder, name: 'again' })
  expect(after.name).not.toBe(before.name)
  expect(await asAdmin(after, 'select oid from pg_database where datname = current_database()')).toEqual({
    oid,
  })
  expect(await asAdmin(after, 'select count(*)::int from notes')).toEqual({ count: 0 })
})

test.each([
  ['a table', 'create table ours ()'],
  ['a right', 'grant select on notes to public'],
  ['a column', 'alter table notes add column ours text'],
  ['a limit of connections', 'alter database current_database connection limit 3'],
  ['many rows', `insert into notes (slug) select 'note-' || n from generate_series(1, 60000) as n`],
])('where a test changed %s, no other test gets its database', async (_, change) => {
  const before = await openTestDatabase({ folder, name: 'changed' })
  const { oid } = await asAdmin(before, 'select oid from pg_database where datname = current_database()')
  await asAdmin(before, change.replace(' current_database ', ` "${before.name}" `))
  await before[Symbol.asyncDispose]()
  await using after = await openTestDatabase({ folder, name: 'changed' })
  expect(await asAdmin(after, 'select oid from pg_database where datname = current_database()')).not.toEqual({
    oid,
  })
})

test('a new run removes the leftovers of ended runs, but not the data of active runs', async () => {
  const { adminUrl, origin } = inject('testPostgres')
  const silent = { error: () => undefined }
  await using live = await openTestDatabase({ folder, name: 'live' })
  await using owned = openPool(adminUrl, { patience: 10 })
  const left = nameInRun('0000dead', 'auth', 'left')
  await owned.query(`create role "${left}"`)
  await owned.query(`create database "${left}" owner "${left}"`)
  const run = await beginTestRun({ adminUrl, origin }, silent)
  await owned.query(`create database "${nameInRun(run.runId, 'auth', 'own')}"`)
  expect(await databases(left)).toEqual([])
  expect(await databases(live.name)).toEqual([live.name])
  expect((await owned.query('select from pg_roles where rolname = $1', [left])).rowCount).toBe(0)
  await run[Symbol.asyncDispose]()
  expect(await databases(nameInRun(run.runId, '%'))).toEqual([])
  expect(await databases(live.name)).toEqual([live.name])
})
