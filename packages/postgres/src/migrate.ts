import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { setLockTimeout, takeLock } from './advisory-lock.ts'
import { APP_ROLE_GRANTS, APP_ROLE_SETTING, MIGRATIONS_TABLE } from './app-role-grants.ts'
import { connect } from './connection.ts'
import type { Database } from './database.ts'
import { redactDatabaseError } from './database-error.ts'

/** How long a call waits for another call that is migrating. */
const MIGRATION_LOCK_SECONDS = 30
/** How long a migration waits for a table lock. Meanwhile, every later reader of the table queues behind it. */
const TABLE_LOCK_SECONDS = 2
/** Far above the default of 2 s, because a migration may rewrite a large table. */
const STATEMENT_MS = 300_000
/** The comment on schema `public` while a backup is being restored. The app's role then receives no privileges. */
export const RESTORING_COMMENT = 'a backup is being restored'

/**
 * Applies the migrations of `folder` that the database lacks: plain SQL files `NNNN-name.sql`, in numeric order, each
 * in its own transaction with its row in `schema_migrations`. There are no down migrations. Concurrent calls are safe:
 * one applies the migrations, and the others wait for it, up to 30 s.
 *
 * The files name no role. If `appRole` is set, each transaction also grants that role the privileges of
 * `APP_ROLE_GRANTS` in schema `public`. In other schemas, a migration must grant the privileges itself, to the role in the
 * setting `plainpath.app_role`.
 *
 * @param options.url the database URL of the role that owns the tables
 * @returns the names of the applied migrations, such as `0001-agents`
 * @throws {Error} that names the failed migration. Earlier migrations remain applied
 */
export async function migrate(options: {
  url: string
  folder: string
  appRole?: string
  /** If set, applies only these migrations. */
  only?: readonly string[]
  /** True only for `loadBackup`: allows a database that is being restored. */
  isRestoring?: boolean
}): Promise<{ applied: string[] }> {
  // Called only for its errors: rejects an invalid folder before connecting.
  await listMigrationNames(options.folder)
  await using client = await connect(options.url, {
    applicationName: 'plainpath migrate',
    statementMs: STATEMENT_MS,
  })
  await takeLock(client, 'plainpath migrations', MIGRATION_LOCK_SECONDS)
  if (options.isRestoring !== true) await refuseUnfinishedRestore(client)
  await setLockTimeout(client, TABLE_LOCK_SECONDS)
  // Without this, the server would finish a long statement and keep its locks after this process was killed.
  await client.query(`set client_connection_check_interval = '1s'`)
  await client.query('select set_config($1, coalesce($2, current_user::text), false)', [
    APP_ROLE_SETTING,
    options.appRole,
  ])
  const applied = await applyMissingMigrations(client, options.folder, options.only)
  // Also needed if no migration was missing, as after a restore, which migrates without the app's role.
  await client.query(APP_ROLE_GRANTS)
  return { applied }
}

/** Refuses a database whose restore is unfinished: it still contains what was revoked or erased after the backup. */
export async function refuseUnfinishedRestore(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ comment: string | null }>(
    `select obj_description('public'::regnamespace, 'pg_namespace') as comment`,
  )
  if (rows[0]?.comment === RESTORING_COMMENT)
    throw new Error(
      'a restore of this database has not finished: wait for it, or restore the backup again into an empty database',
    )
}

/** Returns true if the database has every migration of `folder`, and this role can read `schema_migrations`. */
export const isSchemaCurrent = async (db: Database, folder: string) =>
  (await listMissingMigrations(db, folder)).length === 0

/**
 * Lists the migrations of `folder` that were not applied. If `schema_migrations` does not exist, or this role cannot read
 * it, lists all of them. Ignores migrations of a newer release, because the previous release must run on the new schema.
 */
export async function listMissingMigrations(db: Database, folder: string): Promise<string[]> {
  const expectedNames = await listMigrationNames(folder)
  try {
    const { rows } = await db.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`)
    const appliedNames = new Set(rows.map((row) => row.name))
    return expectedNames.filter((name) => !appliedNames.has(name))
  } catch (error) {
    if (
      error instanceof pg.DatabaseError &&
      (error.code === UNDEFINED_TABLE || error.code === INSUFFICIENT_PRIVILEGE)
    )
      return expectedNames
    throw error
  }
}

/**
 * Compares the applied migrations with `folder`.
 *
 * @returns `missing`, the migrations of `folder` that were not applied, and `unknown`, the applied migrations that are not
 *   in `folder`. `isEmpty` is true if no migration of `folder` was applied, if `schema_migrations` does not exist, or if this
 *   role cannot read it. In these cases, `unknown` is empty
 */
export async function compareMigrations(db: Database, folder: string) {
  const expectedNames = await listMigrationNames(folder)
  const missing = await listMissingMigrations(db, folder)
  if (missing.length === expectedNames.length) return { isEmpty: true, missing, unknown: [] }
  const { rows } = await db.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by name`)
  const unknown = rows.map(({ name }) => name).filter((name) => !expectedNames.includes(name))
  return { isEmpty: false, missing, unknown }
}

const UNDEFINED_TABLE = '42P01'
const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Lists the migrations of a folder.
 *
 * @throws {Error} for a folder without migrations, a file that is not named `NNNN-name.sql`, or a duplicate number
 */
async function listMigrationNames(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  if (files.length === 0) throw new Error(`there are no migrations in ${folder}`)
  for (const [index, file] of files.entries()) {
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(file))
      throw new Error(`the migration ${file} must be named NNNN-name.sql`)
    const number = file.slice(0, 4)
    if (files[index - 1]?.startsWith(number)) throw new Error(`two migrations have the number ${number}`)
  }
  return files.map((file) => path.basename(file, '.sql'))
}

/** Applies the migrations of `folder` that the database lacks; if `only` is set, only those whose names it has. */
async function applyMissingMigrations(
  client: pg.Client,
  folder: string,
  only?: readonly string[],
): Promise<string[]> {
  let currentFile: string | undefined
  /** Loads each file as one migration. The library's own loader would split a file at comments such as `-- down migration`. */
  const loader = (filePaths: string[]) =>
    Promise.all(
      filePaths.map(async (filePath) => {
        const sql = await readFile(filePath, 'utf8')
        const up = (builder: { sql(text: string): void }) => {
          currentFile = path.basename(filePath)
          builder.sql(`${sql}\n;${APP_ROLE_GRANTS}`)
        }
        return { id: filePath, filePaths: [filePath], actions: { up, down: false as const } }
      }),
    )
  try {
    // Imported here, because an app that only serves does not need it.
    const { runner } = await import('node-pg-migrate')
    const applied = await runner({
      dbClient: client,
      dir: folder,
      // Matches the name of every file that is not to be applied.
      ignorePattern: `(?!(?:${only?.join('|') ?? '.*'})\\.sql$).*`,
      migrationLoaderStrategies: [{ extensions: ['.sql'], loader }],
      migrationsTable: MIGRATIONS_TABLE,
      direction: 'up',
      singleTransaction: false,
      // `migrate` has taken a lock of its own.
      noLock: true,
      logger: SILENT_LOGGER,
    })
    return applied.map((migration) => migration.name)
  } catch (error) {
    redactDatabaseError(error)
    const failure = currentFile ? `migration ${currentFile} failed` : 'cannot migrate'
    throw new Error(`${failure}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

const ignore = () => undefined
const SILENT_LOGGER = { debug: ignore, info: ignore, warn: ignore, error: ignore }
