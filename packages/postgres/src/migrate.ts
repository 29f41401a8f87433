import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { setLockTimeout, takeLock } from './advisory-lock.ts'
import { APP_ROLE_GRANTS, APP_ROLE_SETTING, MIGRATIONS_TABLE } from './app-role-grants.ts'
import { connect } from './connection.ts'
import type { Database } from './database.ts'
import { withoutValues } from './database-error.ts'

const LOCK_SECONDS = 30
const STATEMENT_MS = 300_000
/** A migration that cannot get a table's lock gives up rather than have every reader queue behind it. */
const TABLE_LOCK_SECONDS = 2

/**
 * Applies the migrations of `folder` that the database lacks: plain SQL files `NNNN-name.sql`, in the order of their numbers,
 * each in a transaction of its own with its row in `schema_migrations`. There are no down migrations. Concurrent calls are
 * safe: one applies the migrations, the others wait for it up to 30 s.
 *
 * Files name no role. With `appRole`, each transaction also sets that role's privileges on the tables of schema `public`:
 * select, insert, update and delete, but only select and insert where `comment on table … is 'append-only…'`. Privileges in
 * other schemas are left to the files.
 *
 * @param options.url connects as the role that owns the tables
 * @returns the names of the migrations it applied, such as `0001-agents`
 * @throws naming the migration that failed; earlier ones stay applied
 */
export async function migrate(options: {
  url: string
  folder: string
  appRole?: string
}): Promise<{ applied: string[] }> {
  await migrationNames(options.folder)
  await using client = await connect(options.url, {
    applicationName: 'plainpath migrate',
    statementMs: STATEMENT_MS,
  })
  await takeLock(client, 'plainpath migrations', LOCK_SECONDS)
  await setLockTimeout(client, TABLE_LOCK_SECONDS)
  // Otherwise the server would finish a long statement, with its locks, even after this process was killed.
  await client.query(`set client_connection_check_interval = '1s'`)
  await client.query('select set_config($1, coalesce($2, current_user::text), false)', [
    APP_ROLE_SETTING,
    options.appRole,
  ])
  const applied = await applyNew(client, options.folder)
  await client.query(APP_ROLE_GRANTS)
  return { applied }
}

/** Returns false if the database lacks a migration of `folder`, or does not yet let this role read its tables. */
export const schemaIsCurrent = async (db: Database, folder: string) =>
  (await missingMigrations(db, folder)).length === 0

/**
 * Lists the migrations of `folder` that were not applied; all of them if this role cannot read the tables yet. Migrations of
 * a newer release are ignored, since the previous release must run on the new schema.
 */
export async function missingMigrations(db: Database, folder: string): Promise<string[]> {
  const expected = await migrationNames(folder)
  try {
    const { rows } = await db.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`)
    const applied = new Set(rows.map((row) => row.name))
    return expected.filter((name) => !applied.has(name))
  } catch (error) {
    if (error instanceof pg.DatabaseError && (error.code === UNDEFINED_TABLE || error.code === NOT_ALLOWED))
      return expected
    throw error
  }
}

const UNDEFINED_TABLE = '42P01'
const NOT_ALLOWED = '42501'

/** Lists the migrations of a folder. @throws for a folder without any, a file not named `NNNN-name.sql`, a number used twice */
async function migrationNames(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  if (files.length === 0) throw new Error(`there are no migrations in ${folder}`)
  for (const [index, file] of files.entries()) {
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(file))
      throw new Error(`a migration is named NNNN-name.sql, not ${file}`)
    if (file.slice(0, 4) === files[index - 1]?.slice(0, 4))
      throw new Error(`two migrations are numbered ${file.slice(0, 4)}`)
  }
  return files.map((file) => path.basename(file, '.sql'))
}

async function applyNew(client: pg.Client, folder: string): Promise<string[]> {
  let current: string | undefined
  /** Replaces the library's loader, which would split a file at comments such as `-- down migration`. */
  const loader = (filePaths: string[]) =>
    Promise.all(
      filePaths.map(async (filePath) => {
        const sql = await readFile(filePath, 'utf8')
        const up = (builder: { sql(text: string): void }) => {
          current = path.basename(filePath)
          builder.sql(`${sql}\n;${APP_ROLE_GRANTS}`)
        }
        return { id: filePath, filePaths: [filePath], actions: { up, down: false as const } }
      }),
    )
  try {
    // Imported here, so that an app that only serves does not load it.
    const { runner } = await import('node-pg-migrate')
    const applied = await runner({
      dbClient: client,
      dir: folder,
      ignorePattern: '.*(?<!\\.sql)',
      migrationLoaderStrategies: [{ extensions: ['.sql'], loader }],
      migrationsTable: MIGRATIONS_TABLE,
      direction: 'up',
      singleTransaction: false,
      noLock: true,
      logger: SILENT,
    })
    return applied.map((migration) => migration.name)
  } catch (error) {
    withoutValues(error)
    const where = current ? `migration ${current} failed` : 'cannot migrate'
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

const quiet = () => undefined
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet }
