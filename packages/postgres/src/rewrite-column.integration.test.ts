import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '../test/test-database.ts'
import { type Database, openPool, type Pool } from './database.ts'
import { rewriteColumn } from './rewrite-column.ts'

const resources = new AsyncDisposableStack()
let db: Pool
beforeAll(async () => {
  const folder = path.join(import.meta.dirname, '../test/migrations')
  const database = resources.use(await openTestDatabase({ folder, name: 'rewrite' }))
  db = resources.use(openPool(database.ownerUrl, { max: 2, patience: 10 }))
})
afterAll(() => resources.disposeAsync())

/** More than one batch of 500. The last row is null. */
const ROWS = 602
const OLD = Buffer.from('old')
const rewrite = (value: Buffer, key: string) => (value.equals(OLD) ? Buffer.from(`new of ${key}`) : undefined)

async function createTable(name: string, type: 'text' | 'uuid') {
  await db.query(`create table ${name} (id ${type} primary key, value bytea)`)
  const key = type === 'uuid' ? 'gen_random_uuid()' : 'n::text'
  await db.query(`insert into ${name} select ${key}, $1 from generate_series(1, $2::int) n`, [OLD, ROWS - 1])
  await db.query(`insert into ${name} values (${type === 'uuid' ? 'gen_random_uuid()' : `'none'`}, null)`)
  const count = async (condition: string) => {
    const { rows } = await db.query<{ rows: number }>(
      `select count(*)::int as rows from ${name} where ${condition}`,
    )
    return rows[0]?.rows
  }
  return { count, column: { table: name, column: 'value', keyColumn: 'id', rewrite } }
}

test.for(['text', 'uuid'] as const)(
  'rewrites every value of a table with a %s key once, in several batches',
  async (type) => {
    const { count, column } = await createTable(`of_${type}`, type)
    expect(await rewriteColumn(db, column, { dryRun: true })).toBe(ROWS - 1)
    expect(await count(`value = 'old'`)).toBe(ROWS - 1)
    expect(await rewriteColumn(db, column, { dryRun: false })).toBe(ROWS - 1)
    expect(await count(`value = convert_to('new of ' || id, 'utf8')`)).toBe(ROWS - 1)
    expect(await count('value is null')).toBe(1)
    expect(await rewriteColumn(db, column, { dryRun: false })).toBe(0)
  },
)

test('does not overwrite values that another process changes in the meantime', async () => {
  const { count, column } = await createTable('written', 'text')
  let hasWritten = false
  const interleavedDb: Database = {
    async query(text, values) {
      if (text.startsWith('update') && !hasWritten) {
        hasWritten = true
        // In the order of text keys, `1` is in the batch that was just read, and `9` in the next one.
        await db.query(`update written set value = 'theirs' where id in ('1', '9')`)
      }
      return db.query(text, values)
    },
  }
  await rewriteColumn(interleavedDb, column, { dryRun: false })
  expect([await count(`value = 'theirs'`), await count(`value = 'old'`)]).toEqual([2, 0])
})
