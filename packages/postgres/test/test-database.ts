import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { takeLock } from '../src/advisory-lock.ts'
import { connect } from '../src/connection.ts'
import { migrate } from '../src/migrate.ts'
import {
  closeDatabase,
  type DatabaseSpec,
  databaseUrl,
  ensureRolesAndDatabases,
} from '../src/roles-and-databases.ts'
import { type DatabaseContents, readContents, restoreContents } from './database-contents.ts'
import { nameInRun, type TestPostgres } from './test-run.ts'

/**
 * A migrated database of its own for one test file, or one test. Disposing takes it away soon, without waiting: another
 * test of this worker gets it under another name, with what its template held, since that costs a fifth of a copy.
 */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string
  /** Connects as the role that owns the tables. */
  readonly ownerUrl: string
  /** Connects as the lesser role the app runs as. */
  readonly appUrl: string
  /** Connects to the same database as the server's administrator. */
  readonly adminUrl: string
}

const LOCK_SECONDS = 30
const TERMINATION_MS = 5_000

/** With fsync off, copying files is twice as fast. With fsync on, its two checkpoints would stall all tests. */
const COPY_STRATEGY = { embedded: 'file_copy', TEST_POSTGRES_URL: 'wal_log' } as const

/**
 * Makes a database on the server that the test's vitest project runs on, as a copy of a template that the first caller
 * of a run migrates.
 *
 * @param options.folder the absolute path of an app's migrations.
 * @param options.name short, of `a-z`, such as `auth`; the roles are named after it.
 */
export async function openTestDatabase(options: { folder: string; name: string }): Promise<TestDatabase> {
  const server = inject('testPostgres')
  const startedAt = performance.now()
  const template = await templateOf(server, options)
  const name = nameInRun(server.runId, options.name, randomBytes(4).toString('hex'))
  const admin = workerAdmin(server.adminUrl)
  await ensureTemplate(server, admin, template, options.folder)
  if (!(await takeReturned(admin, template, name))) await copyTemplate(server, admin, template, name)
  // For `npm run test:timeline`.
  performance.measure('make a test database', { start: startedAt })
  return {
    name,
    ownerUrl: databaseUrl(server.adminUrl, name, template.owner),
    appUrl: databaseUrl(server.adminUrl, name, template.app),
    adminUrl: databaseUrl(server.adminUrl, name),
    async [Symbol.asyncDispose]() {
      const returned = returnedDatabases.get(template.name) ?? []
      returnedDatabases.set(template.name, [...returned, giveBack(server, admin, template, name)])
    },
  }
}

async function copyTemplate(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  name: string,
): Promise<void> {
  const copy = `${id(name)} template ${id(template.name)} owner ${id(template.owner.name)}`
  await admin.query(`create database ${copy} strategy ${COPY_STRATEGY[server.origin]}`)
  // As on the embedded server.
  await admin.query(`alter database ${id(name)} set synchronous_commit = off`)
  await closeDatabase(admin, name, template.app.name)
  if (contentsOf.has(template.name)) return
  const contents = await withAdmin(databaseUrl(server.adminUrl, name), readContents)
  contentsOf.set(template.name, contents)
}

/** What copies of each template hold before a test uses them. */
const contentsOf = new Map<string, DatabaseContents>()

/** The names of databases that tests of this worker gave back, by template; undefined for those that were dropped. */
const returnedDatabases = new Map<string, readonly Promise<string | undefined>[]>()

/** @returns false where no test gave one back that can be used again */
async function takeReturned(admin: pg.Pool, template: DatabaseSpec, name: string): Promise<boolean> {
  const [first, ...others] = returnedDatabases.get(template.name) ?? []
  if (first === undefined) return false
  returnedDatabases.set(template.name, others)
  const returned = await first
  if (returned === undefined) return await takeReturned(admin, template, name)
  await admin.query(`alter database ${id(returned)} rename to ${id(name)}`)
  return true
}

/** Under another name, so that what a test left running finds no database. */
async function giveBack(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  name: string,
): Promise<string | undefined> {
  const returned = nameInRun(server.runId, 'returned', randomBytes(4).toString('hex'))
  try {
    await admin.query(
      `select pg_terminate_backend(pid, ${TERMINATION_MS}) from pg_stat_activity where datname = $1`,
      [name],
    )
    await admin.query(`alter database ${id(name)} rename to ${id(returned)}`)
    const contents = contentsOf.get(template.name)
    const url = databaseUrl(server.adminUrl, returned)
    if (contents && (await withAdmin(url, (db) => restoreContents(db, contents)))) return returned
  } catch {
    // What a test left running, or did to its roles, stands in the way.
  }
  // What a worker leaves when it ends, and a drop that failed, go with the run.
  for (const left of [name, returned])
    admin.query(`drop database if exists ${id(left)} with (force)`).catch(() => undefined)
  return undefined
}

/** A file may need dozens of databases, and connecting costs as much as a copy. */
const admins = new Map<string, pg.Pool>()

/** The administrator's connections of this worker. They do not keep it alive. */
function workerAdmin(adminUrl: string): pg.Pool {
  const known = admins.get(adminUrl)
  if (known) return known
  const pool = new pg.Pool({
    connectionString: adminUrl,
    application_name: 'plainpath test',
    max: 3,
    connectionTimeoutMillis: ADMIN_STATEMENT_MS,
    statement_timeout: ADMIN_STATEMENT_MS,
    allowExitOnIdle: true,
  })
  // Unheard, the loss of an idle connection would end the process.
  pool.on('error', () => undefined)
  admins.set(adminUrl, pool)
  return pool
}

const id = pg.escapeIdentifier

/** Changed migrations, as while tests are watched, make another template. */
async function templateOf(
  server: TestPostgres,
  { folder, name }: { folder: string; name: string },
): Promise<DatabaseSpec> {
  const hash = createHash('sha256')
  for (const file of (await readdir(folder)).sort()) hash.update(await readFile(path.join(folder, file)))
  const role = (kind: string) => ({
    name: nameInRun(server.runId, name, kind),
    password: server.rolePassword,
  })
  const version = hash.digest('hex').slice(0, 8)
  return { name: nameInRun(server.runId, name, 'template', version), owner: role('owner'), app: role('app') }
}

/** A finished template allows no connections, since one that is in use cannot be copied. */
async function ensureTemplate(
  server: TestPostgres,
  admin: pg.Pool,
  template: DatabaseSpec,
  folder: string,
): Promise<void> {
  if (await isFinished(admin, template.name)) return
  // The lock belongs to the connection, so it needs one of its own.
  await withAdmin(server.adminUrl, async (making) => {
    await takeLock(making, `template ${template.name}`, LOCK_SECONDS)
    if (await isFinished(making, template.name)) return
    await making.query(`drop database if exists ${id(template.name)} with (force)`)
    const [made] = await ensureRolesAndDatabases(server.adminUrl, [template])
    if (made) await migrate({ url: made.ownerUrl, folder, appRole: template.app.name })
    await making.query(`alter database ${id(template.name)} allow_connections false`)
  })
}

async function isFinished(admin: Pick<pg.Client, 'query'>, name: string): Promise<boolean> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1 and not datallowconn', [
    name,
  ])
  return rowCount === 1
}

const ADMIN_STATEMENT_MS = 40_000

/** @param adminUrl of an administrator of the server */
export async function withAdmin<T>(adminUrl: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  await using admin = await connect(adminUrl, {
    applicationName: 'plainpath test',
    statementMs: ADMIN_STATEMENT_MS,
  })
  return await work(admin)
}

/**
 * Remembers what every table of a database holds, as a backup does.
 *
 * @param adminUrl of an administrator of the server
 * @returns brings it back, as a restore does
 */
export async function backUp(adminUrl: string): Promise<() => Promise<void>> {
  const contents = await withAdmin(adminUrl, readContents)
  return async () => {
    if (!(await withAdmin(adminUrl, (db) => restoreContents(db, contents))))
      throw new Error('the schema was changed after the backup')
  }
}
