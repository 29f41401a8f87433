import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { takeLock } from '../advisory-lock.ts'
import { migrate } from '../migrate.ts'
import {
  closeDatabase,
  type DatabaseSpec,
  databaseUrl,
  ensureRolesAndDatabases,
} from '../roles-and-databases.ts'
import type { TestPostgres } from './provided-context.ts'
import { nameInRun } from './test-run.ts'
import { withAdmin } from './with-admin.ts'

/** A migrated database of its own for one test file, or one test. Disposing drops it. */
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

/**
 * Makes a database on the server that the test's vitest project runs on, as a copy of a template that the first caller
 * of a run migrates.
 *
 * @param options.folder the absolute path of an app's migrations.
 * @param options.name short, of `a-z`, such as `auth`; the roles are named after it.
 */
export async function openTestDatabase(options: { folder: string; name: string }): Promise<TestDatabase> {
  const server = inject('testPostgres')
  const template = await templateOf(server, options)
  const name = nameInRun(server.runId, options.name, randomBytes(4).toString('hex'))
  await withAdmin(server.adminUrl, async (admin) => {
    await ensureTemplate(server, admin, template, options.folder)
    const copy = `${id(name)} template ${id(template.name)} owner ${id(template.owner.name)}`
    await admin.query(`create database ${copy}`)
    // As on the embedded server.
    await admin.query(`alter database ${id(name)} set synchronous_commit = off`)
    await closeDatabase(admin, name, template.app.name)
  })
  return {
    name,
    ownerUrl: databaseUrl(server.adminUrl, name, template.owner),
    appUrl: databaseUrl(server.adminUrl, name, template.app),
    adminUrl: databaseUrl(server.adminUrl, name),
    [Symbol.asyncDispose]: () =>
      withAdmin(server.adminUrl, async (admin) => {
        await admin.query(`drop database if exists ${id(name)} with (force)`)
      }),
  }
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
  admin: pg.Client,
  template: DatabaseSpec,
  folder: string,
): Promise<void> {
  if (await isFinished(admin, template.name)) return
  await takeLock(admin, `template ${template.name}`, LOCK_SECONDS)
  if (await isFinished(admin, template.name)) return
  await admin.query(`drop database if exists ${id(template.name)} with (force)`)
  const [made] = await ensureRolesAndDatabases(server.adminUrl, [template])
  if (made) await migrate({ url: made.ownerUrl, folder, appRole: template.app.name })
  await admin.query(`alter database ${id(template.name)} allow_connections false`)
}

async function isFinished(admin: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1 and not datallowconn', [
    name,
  ])
  return rowCount === 1
}
