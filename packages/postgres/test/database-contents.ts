import pg from 'pg'

/** The contents of a database: a hash of its schema, the rows of each table as JSON, and the positions of its sequences. */
export interface DatabaseContents {
  readonly schema: string
  readonly tables: readonly { readonly name: string; readonly rows: string }[]
  /** `last` is the sequence's `last_value`. `called` is `is_called`: whether that value was already returned. */
  readonly sequences: readonly { readonly name: string; readonly last: string; readonly called: boolean }[]
}

const escapeId = pg.escapeIdentifier

/** A table that has grown beyond this size remains slow to read, even after its rows were deleted. */
const MAX_TABLE_BYTES = 2_000_000

/** SQL that hashes the objects that migrations create, with their privileges. Also returns the size of the largest table. */
const READ_SCHEMA = `
  with own as (select oid, nspname, nspacl from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'),
  lines as (
    select concat_ws(' ', 'schema', nspname, nspacl) as line from own
    union all
    select concat_ws(' ', 'class', c.oid, relname, relkind, relowner, relacl, reloptions, relhastriggers)
      from pg_class c join own on own.oid = relnamespace
    union all
    select concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull, attacl, attisdropped)
      from pg_attribute join pg_class c on c.oid = attrelid join own on own.oid = relnamespace
    union all
    select concat_ws(' ', 'default', adrelid, adnum, pg_get_expr(adbin, adrelid)) from pg_attrdef
    union all
    select concat_ws(' ', 'function', p.oid, proname, proacl, proconfig, md5(prosrc))
      from pg_proc p join own on own.oid = pronamespace
    union all
    select concat_ws(' ', 'trigger', tgrelid, tgname, tgenabled) from pg_trigger
    union all
    select concat_ws(' ', 'constraint', c.oid, conname, convalidated) from pg_constraint c join own on own.oid = connamespace
    union all
    select concat_ws(' ', 'database', datacl, datconnlimit, datallowconn) from pg_database where datname = current_database()
    union all
    select concat_ws(' ', 'setting', setrole, setconfig) from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())
  )
  select md5(string_agg(line, e'\\n' order by line)) as schema,
    (select coalesce(max(pg_table_size(c.oid)), 0) from pg_class c join own on own.oid = relnamespace
      where relkind = 'r') as bytes
  from lines`

/**
 * Reads the contents of a database.
 *
 * @param db a superuser's connection to a database that no other session uses
 */
export async function readContents(db: pg.Client): Promise<DatabaseContents> {
  const tables: { name: string; rows: string }[] = []
  for (const name of await readNames(
    db,
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )) {
    const { rows } = await db.query<{ rows: string | null }>(
      `select json_agg(contents)::text as rows from public.${escapeId(name)} as contents`,
    )
    tables.push({ name, rows: rows[0]?.rows ?? '[]' })
  }
  const sequences: { name: string; last: string; called: boolean }[] = []
  for (const name of await readNames(
    db,
    `select sequencename as name from pg_sequences where schemaname = 'public'`,
  )) {
    const { rows } = await db.query<{ last: string; called: boolean }>(
      `select last_value as last, is_called as called from public.${escapeId(name)}`,
    )
    for (const { last, called } of rows) sequences.push({ name, last, called })
  }
  const { rows } = await db.query<{ schema: string }>(READ_SCHEMA)
  return { schema: rows[0]?.schema ?? '', tables, sequences }
}

/**
 * Restores the contents of a database.
 *
 * @param db a superuser's connection to a database that no other session uses
 * @returns false, without any change, if a test changed the schema or a table has grown too large
 */
export async function restoreContents(db: pg.Client, contents: DatabaseContents): Promise<boolean> {
  const { rows } = await db.query<{ schema: string; bytes: string }>(READ_SCHEMA)
  const [current] = rows
  if (current?.schema !== contents.schema || Number(current.bytes) > MAX_TABLE_BYTES) return false
  const deletions = contents.tables.map(({ name }) => `delete from public.${escapeId(name)};`)
  const insertions = contents.tables
    .filter(({ rows: rowsJson }) => rowsJson !== '[]')
    .map(
      ({ name, rows: rowsJson }) =>
        `insert into public.${escapeId(name)} overriding system value
         select * from json_populate_recordset(null::public.${escapeId(name)}, ${pg.escapeLiteral(rowsJson)});`,
    )
  const positions = contents.sequences.map(
    ({ name, last, called }) => `select setval('public.${escapeId(name)}', ${last}, ${called});`,
  )
  // In this role, neither foreign keys nor the triggers that protect audit tables prevent the deletions.
  const statements = [
    'set local session_replication_role = replica;',
    ...deletions,
    ...insertions,
    ...positions,
  ]
  await db.query(`begin; ${statements.join('\n')} commit`)
  return true
}

async function readNames(db: pg.Client, query: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(query)
  return rows.map(({ name }) => name)
}
