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
 * Brings a database forward to the newest migration of `folder`: plain SQL files `NNNN-name.sql`, applied in the order
 * of their numbers, each in a transaction of its own with its line in `schema_migrations`. There is no way back.
 * Several processes may call it at once: one works, the others wait for it up to 30 s.
 *
 * A file names no role. With `appRole` each transaction also grants that role what it needs on the tables of schema
 * `public`, and takes back the rest: read, add, change and remove rows, but only read and add where
 * `comment on table … is 'append-only…'`. Tables of other schemas are the file's own business.
 *
 * @param options.url connects as the role that owns the tables.
 * @returns the names of the migrations it applied, such as `0001-agents`.
 * @throws naming the migration that failed; those before it are kept.
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
  // Of a process that was killed the server would carry out a long statement to its end, with its locks.
  await client.query(`set client_connection_check_interval = '1s'`)
  await client.query('select set_config($1, coalesce($2, current_user::text), false)', [
    APP_ROLE_SETTING,
    options.appRole,
  ])
  const applied = await applyNew(client, options.folder)
  await client.query(APP_ROLE_GRANTS)
  return { applied }
}

/** @returns false when a migration of `folder` is missing in the database, or its tables may not be read yet. */
export const schemaIsCurrent = async (db: Database, folder: string) =>
  (await missingMigrations(db, folder)).length === 0

/**
 * Those of `folder` that were not applied; all of them where the tables may not be read yet. What a newer release
 * applied is not its business: the schema grows in ways that this one can live with.
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

/** @throws for a folder without migrations, a file not named `NNNN-name.sql`, a number used twice. */
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
  /** Ours, since the library's own would cut a file at comments such as `-- down migration`. */
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
    // Loaded by whoever migrates, and by no app that serves.
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
