import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { takeLock } from '../src/advisory-lock.ts'
import { connect } from '../src/connection.ts'
import { migrate } from '../src/migrate.ts'
import {
  createDatabaseUrl,
  type DatabaseSpec,
  ensureRolesAndDatabases,
  restrictDatabase,
} from '../src/roles-and-databases.ts'
import { type DatabaseContents, readContents, restoreContents } from './database-contents.ts'
import { createRunName, type TestPostgres } from './test-run.ts'

export { createEmptyDatabase } from './empty-database.ts'
export { waitForBlockedSessions } from './wait-for-blocked-sessions.ts'

/**
 * A migrated database for one test file or one test. Disposing returns at once. In the background, the database is renamed
 * and gets the template's contents again, so that another test of this worker can use it. That takes a fifth of the time
 * that a new copy takes.
 */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string
  /** The URL of the role that owns the tables. */
  readonly ownerUrl: string
  /** The URL of the app's role, which has fewer privileges. */
  readonly appUrl: string
  /** The URL of the server's administrator, in the same database. */
  readonly adminUrl: string
}

/** How long a caller waits while another one creates the template. */
const LOCK_SECONDS = 30
/** How long a return waits for each session of the database to end. */
const TERMINATION_MS = 5_000

/** `file_copy` is twice as fast, but needs two checkpoints, which would stall all tests on a server with fsync. */
const COPY_STRATEGY = { embedded: 'file_copy', TEST_POSTGRES_URL: 'wal_log' } as const

/**
 * Opens a new database on the server of the test's vitest project. It is a copy of a template, which the first caller of
 * a run migrates.
 *
 * @param options.folder the absolute path of an app's migrations
 * @param options.name a short name of the letters a to z, such as `auth`. The roles are named after it
 */
export async function openTestDatabase(options: { folder: string; name: string }): Promise<TestDatabase> {
  const server = inject('testPostgres')
  const startedAt = performance.now()
  const template = await describeTemplate(server, options)
  const name = createRunName(server.runId, options.name, randomBytes(4).toString('hex'))
  const admin = getAdminPool(server.adminUrl)
  await ensureTemplate(server, admin, template, options.folder)
  if (!(await reuseReturned(admin, template, name))) await copyTemplate(server, admin, template, name)
  // `npm run test:timeline` reads this measure.
  performance.measure('make a test database', { start: startedAt })
  return {
    name,
    ownerUrl: createDatabaseUrl(server.adminUrl, name, template.owner),
    appUrl: createDatabaseUrl(server.adminUrl, name, template.app),
    adminUrl: createDatabaseUrl(server.adminUrl, name),
    async [Symbol.asyncDispose]() {
      const earlierReturns = returnedDatabases.get(template.name) ?? []
      const newReturn = returnDatabase(server, admin, template, name)
      returnedDatabases.set(template.name, [...earlierReturns, newReturn])
    },
  }
}

/** Creates a database as a copy of the template. Reads the contents of the first copy, which later returns restore. */
async function copyTemplate(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  name: string,
): Promise<void> {
  const copy = `${escapeId(name)} template ${escapeId(template.name)} owner ${escapeId(template.owner.name)}`
  await admin.query(`create database ${copy} strategy ${COPY_STRATEGY[server.source]}`)
  // The embedded server has the same setting.
  await admin.query(`alter database ${escapeId(name)} set synchronous_commit = off`)
  await restrictDatabase(admin, name, template.app.name)
  if (contentsByTemplate.has(template.name)) return
  const contents = await withAdmin(createDatabaseUrl(server.adminUrl, name), readContents)
  contentsByTemplate.set(template.name, contents)
}

/** The contents of an unused copy of each template. */
const contentsByTemplate = new Map<string, DatabaseContents>()

/** By template, the new names of the databases that tests of this worker have returned; undefined for a database that was dropped. */
const returnedDatabases = new Map<string, readonly Promise<string | undefined>[]>()

/**
 * Reuses a returned database under the new name.
 *
 * @returns false if no test has returned a database that can be reused
 */
async function reuseReturned(admin: pg.Pool, template: DatabaseSpec, name: string): Promise<boolean> {
  const [firstReturn, ...otherReturns] = returnedDatabases.get(template.name) ?? []
  if (firstReturn === undefined) return false
  returnedDatabases.set(template.name, otherReturns)
  const returnedName = await firstReturn
  if (returnedName === undefined) return await reuseReturned(admin, template, name)
  await admin.query(`alter database ${escapeId(returnedName)} rename to ${escapeId(name)}`)
  return true
}

/**
 * Restores the template's contents in a database, so that another test can use it. Renames the database first, so that
 * work that the test left running can no longer connect to it.
 *
 * @returns the new name; undefined if the database cannot be reused
 */
async function returnDatabase(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  name: string,
): Promise<string | undefined> {
  const returnedName = createRunName(server.runId, 'returned', randomBytes(4).toString('hex'))
  try {
    await admin.query(
      `select pg_terminate_backend(pid, ${TERMINATION_MS}) from pg_stat_activity where datname = $1`,
      [name],
    )
    await admin.query(`alter database ${escapeId(name)} rename to ${escapeId(returnedName)}`)
    const contents = contentsByTemplate.get(template.name)
    const url = createDatabaseUrl(server.adminUrl, returnedName)
    if (contents && (await withAdmin(url, (db) => restoreContents(db, contents)))) return returnedName
  } catch {
    // A session that the test left open, or a change to the database's roles, may make a statement fail.
  }
  // A database whose drop fails is dropped at the end of the run.
  for (const oldName of [name, returnedName])
    admin.query(`drop database if exists ${escapeId(oldName)} with (force)`).catch(() => undefined)
  return undefined
}

/** Pools by URL. A pool is reused, because a test file may need dozens of databases, and connecting takes time. */
const adminPools = new Map<string, pg.Pool>()

/** Returns this worker's pool of administrator connections, which do not keep the process alive. */
function getAdminPool(adminUrl: string): pg.Pool {
  const existingPool = adminPools.get(adminUrl)
  if (existingPool) return existingPool
  const pool = new pg.Pool({
    connectionString: adminUrl,
    application_name: 'plainpath test',
    max: 3,
    connectionTimeoutMillis: ADMIN_STATEMENT_MS,
    statement_timeout: ADMIN_STATEMENT_MS,
    allowExitOnIdle: true,
  })
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', () => undefined)
  adminPools.set(adminUrl, pool)
  return pool
}

const escapeId = pg.escapeIdentifier

/** Names the template and its roles. If the migrations change, as in watch mode, the name changes too. */
async function describeTemplate(
  server: TestPostgres,
  { folder, name }: { folder: string; name: string },
): Promise<DatabaseSpec> {
  const hash = createHash('sha256')
  for (const file of (await readdir(folder)).sort()) hash.update(await readFile(path.join(folder, file)))
  const createRole = (kind: string) => ({
    name: createRunName(server.runId, name, kind),
    password: server.rolePassword,
  })
  const version = hash.digest('hex').slice(0, 8)
  return {
    name: createRunName(server.runId, name, 'template', version),
    owner: createRole('owner'),
    app: createRole('app'),
  }
}

/**
 * Creates the template unless it is finished. A finished template allows no connections, because PostgreSQL cannot copy a
 * database that is in use.
 */
async function ensureTemplate(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  folder: string,
): Promise<void> {
  if (await isFinished(admin, template.name)) return
  // The lock belongs to a session, so it needs a separate connection.
  await withAdmin(server.adminUrl, async (lockClient) => {
    await takeLock(lockClient, `template ${template.name}`, LOCK_SECONDS)
    if (await isFinished(lockClient, template.name)) return
    await lockClient.query(`drop database if exists ${escapeId(template.name)} with (force)`)
    const [urls] = await ensureRolesAndDatabases(server.adminUrl, [template])
    if (urls) await migrate({ url: urls.ownerUrl, folder, appRole: template.app.name })
    await lockClient.query(`alter database ${escapeId(template.name)} allow_connections false`)
  })
}

async function isFinished(admin: Pick<pg.Client, 'query'>, name: string): Promise<boolean> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1 and not datallowconn', [
    name,
  ])
  return rowCount === 1
}

/** The time limit for a statement of a pool of administrator connections, and for opening or awaiting such a connection. */
const ADMIN_STATEMENT_MS = 40_000

/**
 * Runs `work` with an administrator's connection.
 *
 * @param adminUrl the URL of a server administrator
 */
export async function withAdmin<T>(adminUrl: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  await using admin = await connect(adminUrl, {
    applicationName: 'plainpath test',
    patience: 15,
  })
  return await work(admin)
}

/**
 * Reads the contents of all tables of a database, like a backup.
 *
 * @param adminUrl the URL of a server administrator, with the database
 * @returns a function that restores the contents
 */
export async function backUp(adminUrl: string): Promise<() => Promise<void>> {
  const contents = await withAdmin(adminUrl, readContents)
  return async () => {
    if (!(await withAdmin(adminUrl, (db) => restoreContents(db, contents))))
      throw new Error('the schema was changed after the backup')
  }
}
