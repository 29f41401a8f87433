import path from 'node:path'
import { expect, inject, test } from 'vitest'
import { connect, disconnect } from '../src/connection.ts'
import { openPool } from '../src/database.ts'
import { openTestDatabase, type TestDatabase } from './test-database.ts'
import { beginTestRun, createRunName } from './test-run.ts'

const folder = path.join(import.meta.dirname, 'migrations')
const READ_OID = 'select oid from pg_database where datname = current_database()'

async function listDatabases(pattern: string): Promise<string[]> {
  const admin = await connect(inject('testPostgres').adminUrl, { applicationName: 'test', patience: 10 })
  const { rows } = await admin.query<{ datname: string }>(
    'select datname from pg_database where datname like $1',
    [pattern],
  )
  await disconnect(admin)
  return rows.map(({ datname }) => datname)
}

async function queryAsAdmin({ adminUrl }: TestDatabase, query: string): Promise<Record<string, unknown>> {
  const admin = await connect(adminUrl, { applicationName: 'test', patience: 10 })
  const { rows } = await admin.query<Record<string, unknown>>(query)
  await disconnect(admin)
  return rows[0] ?? {}
}

test('opens separate, migrated databases, in which only the owner can create tables', async () => {
  await using oneDatabase = await openTestDatabase({ folder, name: 'copies' })
  await using otherDatabase = await openTestDatabase({ folder, name: 'copies' })
  await using onePool = openPool(oneDatabase.appUrl, { patience: 10 })
  await using otherPool = openPool(otherDatabase.appUrl, { patience: 10 })
  await onePool.query(`insert into notes (slug) values ('mine')`)
  expect((await otherPool.query('select * from notes')).rows).toEqual([])
  await expect(onePool.query('create table mine ()')).rejects.toMatchObject({ code: '42501' })
  await using owner = openPool(oneDatabase.ownerUrl, { patience: 10 })
  await owner.query('create table ours ()')
})

test('copies one template for concurrent calls', async () => {
  await using cleanup = new AsyncDisposableStack()
  const testDatabases = await Promise.all(
    Array.from({ length: 4 }, () => openTestDatabase({ folder, name: 'crowd' })),
  )
  for (const database of testDatabases) cleanup.use(database)
  expect(new Set(testDatabases.map(({ name }) => name)).size).toBe(4)
  expect(await listDatabases(createRunName(inject('testPostgres').runId, 'crowd', 'template%'))).toHaveLength(
    1,
  )
})

test('makes a database unavailable under its name when it is disposed of, even while it is in use', async () => {
  const database = await openTestDatabase({ folder, name: 'gone' })
  await using pool = openPool(database.appUrl, { patience: 10 })
  await pool.query('select 1')
  await database[Symbol.asyncDispose]()
  await expect.poll(() => listDatabases(database.name)).toEqual([])
})

test('reuses a returned database with its contents reset', async () => {
  const firstDatabase = await openTestDatabase({ folder, name: 'again' })
  const { oid } = await queryAsAdmin(firstDatabase, READ_OID)
  await queryAsAdmin(firstDatabase, `insert into notes (slug) values ('mine')`)
  await firstDatabase[Symbol.asyncDispose]()
  await using nextDatabase = await openTestDatabase({ folder, name: 'again' })
  expect(nextDatabase.name).not.toBe(firstDatabase.name)
  expect(await queryAsAdmin(nextDatabase, READ_OID)).toEqual({ oid })
  expect(await queryAsAdmin(nextDatabase, 'select count(*)::int from notes')).toEqual({ count: 0 })
})

// `current_database` stands for the name of the database. The 60,000 rows exceed `MAX_TABLE_BYTES`, 2 MB.
test.each([
  ['a table', 'create table ours ()'],
  ['a privilege', 'grant select on notes to public'],
  ['a column', 'alter table notes add column ours text'],
  ['the connection limit', 'alter database current_database connection limit 3'],
  ['the size of a table', `insert into notes (slug) select 'note-' || n from generate_series(1, 60000) as n`],
])('does not reuse a database in which a test changed %s', async (_, change) => {
  const firstDatabase = await openTestDatabase({ folder, name: 'changed' })
  const { oid } = await queryAsAdmin(firstDatabase, READ_OID)
  await queryAsAdmin(firstDatabase, change.replace(' current_database ', ` "${firstDatabase.name}" `))
  await firstDatabase[Symbol.asyncDispose]()
  await using nextDatabase = await openTestDatabase({ folder, name: 'changed' })
  expect(await queryAsAdmin(nextDatabase, READ_OID)).not.toEqual({ oid })
})

test('removes the leftovers of ended runs when a run begins, but not the data of active runs', async () => {
  const { adminUrl, source } = inject('testPostgres')
  const silentLog = { error: () => undefined }
  await using activeDatabase = await openTestDatabase({ folder, name: 'live' })
  await using adminPool = openPool(adminUrl, { patience: 10 })
  // No run has this id, so the names belong to a run that has ended.
  const leftoverName = createRunName('0000dead', 'auth', 'left')
  await adminPool.query(`create role "${leftoverName}"`)
  await adminPool.query(`create database "${leftoverName}" owner "${leftoverName}"`)
  const run = await beginTestRun({ adminUrl, source }, silentLog)
  await adminPool.query(`create database "${createRunName(run.runId, 'auth', 'own')}"`)
  expect(await listDatabases(leftoverName)).toEqual([])
  expect(await listDatabases(activeDatabase.name)).toEqual([activeDatabase.name])
  expect((await adminPool.query('select from pg_roles where rolname = $1', [leftoverName])).rowCount).toBe(0)
  await run[Symbol.asyncDispose]()
  expect(await listDatabases(createRunName(run.runId, '%'))).toEqual([])
  expect(await listDatabases(activeDatabase.name)).toEqual([activeDatabase.name])
})
