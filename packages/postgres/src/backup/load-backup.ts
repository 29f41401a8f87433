import { readdir } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { connect } from '../connection.ts'
import { migrate, RESTORING_COMMENT } from '../migrate.ts'
import { BackupError, type BackupHeader, type BackupLine, openBackupFile } from './backup-file.ts'

/** Far above the default of 2 s, because statements on large tables may take long. */
const STATEMENT_MS = 300_000
const escapeId = pg.escapeIdentifier

interface LoadOptions {
  /** The database URL of the role that owns the tables. */
  readonly url: string
  /** The folder with this release's migrations. */
  readonly folder: string
  readonly app: BackupHeader['app']
  readonly file: string
}

/**
 * Fills an empty database with a backup, and applies the later migrations. Until `openRestoredDatabase` is called, the
 * app's role cannot read the tables, so no instance serves data that was revoked or erased after the backup.
 *
 * @returns the header of the backup, and the number of loaded rows
 * @throws {BackupError} before it changes anything, or, for a damaged file, after it rolled back the rows
 */
export async function loadBackup(options: LoadOptions): Promise<BackupHeader & { rows: number }> {
  const { url, folder, app, file } = options
  await using backup = await openBackupFile(file)
  const { header, lines } = backup
  if (header.app !== app)
    throw new BackupError(`The file is a backup of ${header.app}, not of ${app}. Nothing was changed.`)
  const knownNames = new Set((await readdir(folder)).map((name) => path.basename(name, '.sql')))
  const unknownNames = header.migrations.filter((name) => !knownNames.has(name))
  if (unknownNames.length > 0)
    throw new BackupError(
      `The backup was made by a newer release, with the migrations ${unknownNames.join(', ')}. Nothing was changed. Restore it with that release.`,
    )
  await using client = await connect(url, { applicationName: 'plainpath restore', statementMs: STATEMENT_MS })
  await refuseUsedDatabase(client)
  // Set before any table exists, because nobody may read the tables until the restore is complete.
  await client.query(`comment on schema public is '${RESTORING_COMMENT}'`)
  // The later migrations are applied last, because they also change the restored rows.
  await migrate({ url, folder, only: header.migrations, isRestoring: true })
  const rows = await loadRows(client, lines)
  await migrate({ url, folder, isRestoring: true })
  return { ...header, rows }
}

/** Grants the app's role its privileges on a restored database, and marks the restore as complete. */
export async function openRestoredDatabase(options: {
  url: string
  folder: string
  appRole: string
}): Promise<void> {
  await using client = await connect(options.url, { applicationName: 'plainpath restore' })
  // `migrate` refuses a database with the comment.
  await client.query('comment on schema public is null')
  await migrate(options)
}

async function refuseUsedDatabase(client: pg.Client): Promise<void> {
  const { rows: tables } = await client.query(`select from pg_tables where schemaname = 'public' limit 1`)
  if (tables.length > 0)
    throw new BackupError(
      'The database already has tables. Nothing was changed. Restore the backup into an empty database.',
    )
  // Sessions named `plainpath lease …` only keep the embedded PostgreSQL running. They use no tables, so they may stay.
  const { rows: sessions } = await client.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'plainpath%'
       and application_name not like 'plainpath lease%'`,
  )
  if (sessions.length > 0)
    throw new BackupError(
      `The database is in use by: ${sessions.map(({ name }) => name).join(', ')}. Nothing was changed. Stop every instance first.`,
    )
}

const NO_ROWS_RESTORED =
  'No rows were restored, but the database now has tables. Restore an intact backup into an empty database.'

/** Loads the rows in one transaction. Foreign keys are checked at its end, so the order of the rows does not matter. */
async function loadRows(client: pg.Client, lines: AsyncGenerator<BackupLine>): Promise<number> {
  const { rows: foreignKeys } = await client.query<{ name: string; table: string }>(
    `select conname as name, conrelid::regclass::text as table from pg_constraint
     where contype = 'f' and not condeferrable and connamespace = 'public'::regnamespace`,
  )
  const alterForeignKeys = async (deferral: string) => {
    for (const { name, table } of foreignKeys)
      await client.query(`alter table ${table} alter constraint ${escapeId(name)} ${deferral}`)
  }
  await client.query('begin')
  try {
    await alterForeignKeys('deferrable initially deferred')
    const count = await applyLines(client, lines)
    await client.query('set constraints all immediate')
    await alterForeignKeys('not deferrable')
    await client.query('commit')
    return count
  } catch (error) {
    await client.query('rollback')
    throw error instanceof BackupError
      ? new BackupError(`${error.message} ${NO_ROWS_RESTORED}`, { cause: error })
      : error
  }
}

/**
 * Replaces the rows of each table in the backup, and sets the sequences.
 *
 * @returns the number of inserted rows
 * @throws {BackupError} if the file is damaged or lacks rows
 */
async function applyLines(client: pg.Client, lines: AsyncGenerator<BackupLine>): Promise<number> {
  let insertStatement = ''
  let count = 0
  for await (const line of lines) {
    if ('table' in line) {
      const table = escapeId(line.table)
      const columns = line.columns.map((column) => escapeId(column)).join(', ')
      // A migration may have inserted rows.
      await client.query(`delete from public.${table}`)
      insertStatement = `insert into public.${table} (${columns}) overriding system value
        select ${columns} from jsonb_populate_recordset(null::public.${table}, $1)`
    } else if ('rowsJson' in line) {
      count += (await client.query(insertStatement, [line.rowsJson])).rowCount ?? 0
    } else if ('sequence' in line) {
      await client.query('select setval($1::regclass, $2::bigint, $3)', [
        `public.${escapeId(line.sequence)}`,
        line.last,
        line.called,
      ])
    } else if (line.rows !== count) throw new BackupError('The backup lacks rows, so it is damaged.')
  }
  return count
}
