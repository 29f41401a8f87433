import pg from 'pg'
import { MIGRATIONS_TABLE } from '../app-role-grants.ts'
import { connect } from '../connection.ts'
import { refuseUnfinishedRestore } from '../migrate.ts'
import { type BackupHeader, createBackupFile, formatRowsLine } from './backup-file.ts'

/** Far above the default of 2 s, because statements on large tables may take long. */
const STATEMENT_MS = 300_000
const BATCH_ROWS = 500
const escapeId = pg.escapeIdentifier

/**
 * Writes a consistent snapshot of a database's rows into a new file, while the apps continue to work. The file does not
 * contain the schema, because `loadBackup` applies the migrations.
 *
 * @param options.url the database URL of the role that owns the tables
 * @param options.leaveOut tables whose rows have no use after a restore
 * @returns the number of rows, the size of the compressed file in bytes, and the time of the backup by the database's clock
 * @throws an error of the file system, such as `EEXIST` if the file exists, or an error that says that a restore of the database
 *   has not finished
 */
export async function writeBackup(options: {
  url: string
  app: BackupHeader['app']
  file: string
  leaveOut: readonly string[]
}): Promise<{ rows: number; bytes: number; madeAt: string }> {
  await using client = await connect(options.url, {
    applicationName: 'plainpath backup',
    statementMs: STATEMENT_MS,
  })
  await using output = await createBackupFile(options.file)
  await client.query('begin isolation level repeatable read read only')
  // Restoring such a backup would never revoke what the unfinished restore has yet to revoke: a restore ignores earlier log lines.
  await refuseUnfinishedRestore(client)
  const listNames = async (sql: string) =>
    (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name)
  const migrations = await listNames(`select name from ${MIGRATIONS_TABLE} order by id`)
  const { rows: times } = await client.query<{ at: Date }>('select now() as at')
  const madeAt = times[0]?.at.toISOString() ?? ''
  const header: BackupHeader = { plainpath_backup: 1, app: options.app, made_at: madeAt, migrations }
  await output.write(JSON.stringify(header))
  let rows = 0
  const tables = await listNames(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  for (const table of tables) {
    if (table === MIGRATIONS_TABLE || options.leaveOut.includes(table)) continue
    // Not the generated columns, because PostgreSQL rejects values for them.
    const columns = await listNames(
      `select attname as name from pg_attribute
       where attrelid = 'public.${escapeId(table)}'::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    )
    await output.write(JSON.stringify({ table, columns }))
    rows += await writeRows(client, output, { table, columns })
  }
  const sequences = await listNames(
    `select sequencename as name from pg_sequences where schemaname = 'public' order by 1`,
  )
  for (const sequence of sequences) {
    // The sequence of the migrations table advances when a restore applies the migrations.
    if (sequence.startsWith(MIGRATIONS_TABLE)) continue
    const { rows: positions } = await client.query<{ last: string; called: boolean }>(
      `select last_value::text as last, is_called as called from public.${escapeId(sequence)}`,
    )
    for (const { last, called } of positions) await output.write(JSON.stringify({ sequence, last, called }))
  }
  await output.write(JSON.stringify({ end: true, rows }))
  await client.query('commit')
  return { rows, bytes: await output.finish(), madeAt }
}

/** Writes a table's rows in batches, which bounds memory use. Returns the number of rows. */
async function writeRows(
  client: pg.Client,
  output: { write(line: string): Promise<void> },
  { table, columns }: { table: string; columns: readonly string[] },
): Promise<number> {
  const columnList = columns.map((column) => escapeId(column)).join(', ')
  await client.query(
    `declare backup cursor for select to_jsonb(stored)::text as row from (select ${columnList} from public.${escapeId(table)}) as stored`,
  )
  let count = 0
  for (;;) {
    const { rows } = await client.query<{ row: string }>(`fetch ${BATCH_ROWS} from backup`)
    if (rows.length === 0) break
    count += rows.length
    await output.write(formatRowsLine(rows.map(({ row }) => row)))
  }
  await client.query('close backup')
  return count
}
