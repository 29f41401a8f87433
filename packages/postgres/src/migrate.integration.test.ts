import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { describe, expect, inject, test, vi } from 'vitest'
import { createEmptyDatabase, dropDatabase } from '../test/empty-database.ts'
import { holdLock } from './advisory-lock.ts'
import { connect, disconnect } from './connection.ts'
import { openPool } from './database.ts'
import { isSchemaCurrent, migrate } from './migrate.ts'
import { ensureRolesAndDatabases } from './roles-and-databases.ts'

// The numbers in the titles, such as F-31, are those of the faults in e2e/faults/fault-numbers.ts.

const folder = path.join(import.meta.dirname, '../test/migrations')

/** Copies the migrations into a new folder, and adds files. */
async function createFolderWith(files: Record<string, string>) {
  const copy = await mkdtemp(path.join(tmpdir(), 'plainpath-migrations-'))
  await cp(folder, copy, { recursive: true })
  for (const [name, sql] of Object.entries(files)) await writeFile(path.join(copy, name), sql)
  return { path: copy, [Symbol.asyncDispose]: () => rm(copy, { recursive: true }) }
}

describe('migrate', () => {
  test('applies the missing migrations in order, and none when it is called again', async () => {
    await using database = await createEmptyDatabase()
    const options = { url: database.ownerUrl, folder, appRole: database.spec.app.name }
    expect(await migrate(options)).toEqual({ applied: ['0001-notes', '0002-audit'] })
    expect(await migrate(options)).toEqual({ applied: [] })
    await using extendedFolder = await createFolderWith({
      '0003-tags.sql': 'create table tags (name text)',
      'README.md': 'no migration',
    })
    expect(await migrate({ ...options, folder: extendedFolder.path })).toEqual({ applied: ['0003-tags'] })
  })

  test('F-31 applies each migration once in three concurrent calls, which all succeed', async () => {
    await using database = await createEmptyDatabase()
    const options = { url: database.ownerUrl, folder, appRole: database.spec.app.name }
    const results = await Promise.all([migrate(options), migrate(options), migrate(options)])
    expect(results.flatMap(({ applied }) => applied)).toEqual(['0001-notes', '0002-audit'])
  })

  test('F-31 does not block `create index concurrently` while it waits for the lock', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder })
    const heldLock = await holdLock(database.ownerUrl, 'plainpath migrations')
    await using extendedFolder = await createFolderWith({ '0003-tags.sql': 'create table tags (name text)' })
    const migration = migrate({ url: database.ownerUrl, folder: extendedFolder.path })
    await using owner = openPool(database.ownerUrl, { patience: 10 })
    // While a migration waits, its last statement is `pg_try_advisory_lock`.
    const findWaitingMigration = () =>
      owner.query(`select from pg_stat_activity
        where application_name = 'plainpath migrate' and datname = current_database() and query ~ 'advisory'`)
    await vi.waitFor(async () => expect((await findWaitingMigration()).rowCount).toBe(1), 10_000)
    // This statement waits for all transactions and statements that were running when it began.
    await owner.query('create index concurrently notes_more on notes (body)')
    await heldLock?.[Symbol.asyncDispose]()
    expect(await migration).toEqual({ applied: ['0003-tags'] })
  }, 60_000)

  test('F-30 leaves nothing of a file when it is killed midway, and a later call applies the file', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder })
    const createSql = (middle: string) =>
      `create table half (n int); insert into half values (1); ${middle}; create table whole (n int);`
    await using slowFolder = await createFolderWith({ '0003-half.sql': createSql('select pg_sleep(600)') })
    const program = `
      import { migrate } from '${fileURLToPath(new URL('./migrate.ts', import.meta.url))}'
      await migrate({ url: process.env.URL, folder: process.env.FOLDER })`
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
      env: { URL: database.ownerUrl, FOLDER: slowFolder.path },
      stdio: 'inherit',
    })
    await using owner = openPool(database.ownerUrl, { patience: 10 })
    const findSleepingSession = () =>
      owner.query(
        `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
      )
    await vi.waitFor(async () => expect((await findSleepingSession()).rowCount).toBe(1), 10_000)
    child.kill('SIGKILL')
    await using quickFolder = await createFolderWith({ '0003-half.sql': createSql('select 1') })
    expect(await isSchemaCurrent(owner, quickFolder.path)).toBe(false)
    expect(await migrate({ url: database.ownerUrl, folder: quickFolder.path })).toEqual({
      applied: ['0003-half'],
    })
    expect((await owner.query('select n from half')).rowCount).toBe(1)
    expect((await findSleepingSession()).rowCount).toBe(0)
  }, 60_000)

  test('applies a whole file, even if a comment looks like a marker of the library', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder })
    await using owner = openPool(database.ownerUrl, { patience: 10 })
    // In 0001-notes.sql, a comment that begins with `up migration` comes between the table and this index.
    expect((await owner.query(`select to_regclass('notes_body_idx') as found`)).rows[0]).toEqual({
      found: 'notes_body_idx',
    })
  })

  test('names the migration that fails, rolls it back, and keeps the earlier migrations', async () => {
    await using database = await createEmptyDatabase()
    await using brokenFolder = await createFolderWith({
      '0003-broken.sql': `create table half (n int); insert into notes (slug) values ('canary-7f3a'), ('canary-7f3a');`,
    })
    const error = await migrate({ url: database.ownerUrl, folder: brokenFolder.path }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({
      message: expect.stringContaining('migration 0003-broken.sql failed: duplicate key'),
    })
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary')
    await using owner = openPool(database.ownerUrl, { patience: 10 })
    const { rows } = await owner.query(
      `select to_regclass('half') as half, array(select name from schema_migrations) as kept`,
    )
    expect(rows).toEqual([{ half: null, kept: ['0001-notes', '0002-audit'] }])
  })

  test.for([
    {
      mistake: 'a file of another name',
      files: { '3-tags.sql': '' },
      message: 'the migration 3-tags.sql must be named NNNN-name.sql',
    },
    {
      mistake: 'a number used twice',
      files: { '0002-tags.sql': '' },
      message: 'two migrations have the number 0002',
    },
  ])('refuses $mistake', async ({ files, message }) => {
    await using database = await createEmptyDatabase()
    await using wrongFolder = await createFolderWith(files)
    await expect(migrate({ url: database.ownerUrl, folder: wrongFolder.path })).rejects.toThrow(message)
  })

  test('refuses a migration that comes before one already applied', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder })
    await using lateFolder = await createFolderWith({ '0000-late.sql': 'create table late ()' })
    await expect(migrate({ url: database.ownerUrl, folder: lateFolder.path })).rejects.toThrow('0000-late')
  })

  test('refuses a folder without migrations', async () => {
    await using database = await createEmptyDatabase()
    await expect(migrate({ url: database.ownerUrl, folder: import.meta.dirname })).rejects.toThrow(
      'no migrations',
    )
  })
})

describe('the app role', () => {
  const readPrivileges = async (url: string, table: string) => {
    const client = await connect(url, { applicationName: 'test', patience: 10 })
    const { rows } = await client.query(
      `select string_agg(p, ' ') as privileges from unnest(array['select', 'insert', 'update', 'delete', 'truncate',
        'references', 'trigger']) as p where has_table_privilege($1, p)`,
      [table],
    )
    await disconnect(client)
    return rows[0].privileges
  }
  /** 0002-audit.sql marks `audit` as append-only. */
  const GRANTS = {
    notes: 'select insert update delete',
    audit: 'select insert',
    schema_migrations: 'select',
  }

  test.for(Object.entries(GRANTS))('has these privileges on %s: %s', async ([table, privileges]) => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder, appRole: database.spec.app.name })
    expect(await readPrivileges(database.appUrl, table)).toBe(privileges)
  })

  test('can use the sequences of its tables, but can neither create nor truncate tables', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder, appRole: database.spec.app.name })
    await using app = openPool(database.appUrl, { patience: 10 })
    const { rows } = await app.query(`insert into notes (slug) values ('one') returning id`)
    expect(rows).toEqual([{ id: 1 }])
    await expect(app.query('create table mine ()')).rejects.toMatchObject({ code: '42501' })
    await expect(app.query('truncate notes')).rejects.toMatchObject({ code: '42501' })
  })

  test('has the same privileges on tables that existed before the role', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder })
    expect(await readPrivileges(database.appUrl, 'audit')).toBe(null)
    await migrate({ url: database.ownerUrl, folder, appRole: database.spec.app.name })
    expect(await readPrivileges(database.appUrl, 'audit')).toBe('select insert')
  })

  test('has its privileges on a table even if a later migration fails', async () => {
    await using database = await createEmptyDatabase()
    await using brokenFolder = await createFolderWith({ '0003-broken.sql': 'select 1 / 0' })
    const options = { url: database.ownerUrl, folder: brokenFolder.path, appRole: database.spec.app.name }
    await expect(migrate(options)).rejects.toThrow('0003-broken')
    expect(await readPrivileges(database.appUrl, 'audit')).toBe('select insert')
  })

  test('retains the privileges of an owner if it owns the tables', async () => {
    await using database = await createEmptyDatabase()
    await migrate({ url: database.ownerUrl, folder, appRole: database.spec.owner.name })
    expect(await readPrivileges(database.ownerUrl, 'audit')).toContain('references')
  })
})

describe('isSchemaCurrent', () => {
  test('is true for the app role only when it may read the tables', async () => {
    await using database = await createEmptyDatabase()
    await using app = openPool(database.appUrl, { patience: 10 })
    expect(await isSchemaCurrent(app, folder)).toBe(false)
    await migrate({ url: database.ownerUrl, folder })
    expect(await isSchemaCurrent(app, folder)).toBe(false)
    await migrate({ url: database.ownerUrl, folder, appRole: database.spec.app.name })
    expect(await isSchemaCurrent(app, folder)).toBe(true)
  })

  test('is false when a migration is missing, and true when the database has newer ones', async () => {
    await using database = await createEmptyDatabase()
    await using extendedFolder = await createFolderWith({ '0003-tags.sql': 'create table tags (name text)' })
    await using app = openPool(database.appUrl, { patience: 10 })
    const options = { url: database.ownerUrl, appRole: database.spec.app.name }
    await migrate({ ...options, folder })
    expect(await isSchemaCurrent(app, extendedFolder.path)).toBe(false)
    await migrate({ ...options, folder: extendedFolder.path })
    expect(await isSchemaCurrent(app, folder)).toBe(true)
  })
})

describe('ensureRolesAndDatabases', () => {
  test('creates everything once in concurrent calls', async () => {
    await using database = await createEmptyDatabase()
    const { adminUrl } = inject('testPostgres')
    const { owner, app } = database.spec
    const secondSpec = {
      name: `${database.name}_2`,
      owner: { ...owner, name: `${owner.name}2` },
      app: { ...app, name: `${app.name}2` },
    }
    const specs = [database.spec, secondSpec]
    const results = await Promise.all([1, 2, 3].map(() => ensureRolesAndDatabases(adminUrl, specs)))
    for (const [firstDatabase] of results)
      expect(firstDatabase).toMatchObject({ ownerUrl: database.ownerUrl, appUrl: database.appUrl })
    await dropDatabase(secondSpec)
  })

  test('does not let the app role of another database connect', async () => {
    await using database = await createEmptyDatabase()
    await using otherDatabase = await createEmptyDatabase()
    const intruder = new URL(database.appUrl)
    intruder.username = otherDatabase.spec.app.name
    await expect(connect(intruder.href, { applicationName: 'test', patience: 10 })).rejects.toMatchObject({
      code: '42501',
    })
  })

  test('works for an administrator without superuser rights', async () => {
    const { adminUrl, rolePassword } = inject('testPostgres')
    await using database = await createEmptyDatabase()
    const name = `${database.name}_second`
    const lesserAdmin = { name: `${name}_admin`, password: rolePassword }
    await using admin = openPool(adminUrl, { patience: 10 })
    await admin.query(
      `create role "${lesserAdmin.name}" login createrole createdb password '${rolePassword}'`,
    )
    const lesserUrl = new URL(adminUrl)
    lesserUrl.username = lesserAdmin.name
    lesserUrl.password = rolePassword
    const spec = {
      name,
      owner: { name: `${name}_owner`, password: rolePassword },
      app: { name: `${name}_app`, password: rolePassword },
    }
    const [created] = await ensureRolesAndDatabases(lesserUrl.href, [spec])
    expect(await migrate({ url: created?.ownerUrl ?? '', folder, appRole: spec.app.name })).toMatchObject({
      applied: { length: 2 },
    })
    await dropDatabase(spec)
    await admin.query(`drop role "${lesserAdmin.name}"`)
  })
})
