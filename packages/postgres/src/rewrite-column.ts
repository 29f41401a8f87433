import { z } from 'zod'
import type { Database } from './database.ts'

/** A `bytea` column and the function that converts its values. */
interface RewrittenColumn {
  readonly table: string
  readonly column: string
  /** The primary key. */
  readonly key: string
  /** Converts a value. @returns undefined for a value that needs no change */
  rewrite(value: Buffer, key: string): Buffer | undefined
}

const Row = z.object({ id: z.string(), value: z.instanceof(Buffer) })
const BATCH = 500

/**
 * Rewrites the values of a column in batches, while other processes read and write it. A value that changes in the meantime
 * keeps its new content.
 *
 * @param options.trial only counts
 * @returns how many values it rewrote
 * @throws what `rewrite` throws; earlier values stay rewritten
 */
export async function rewriteColumn(
  db: Database,
  { table, column, key, rewrite }: RewrittenColumn,
  { trial }: { trial: boolean },
): Promise<number> {
  let count = 0
  for (let after: string | undefined; ; ) {
    const { rows } = await db.query(
      `select ${key} as id, ${column} as value from ${table}
       where ${column} is not null ${after === undefined ? '' : `and ${key} > $1`} order by ${key} limit ${BATCH}`,
      after === undefined ? [] : [after],
    )
    for (const row of rows) {
      const { id, value } = Row.parse(row)
      after = id
      const rewritten = rewrite(value, id)
      if (!rewritten) continue
      count += 1
      if (!trial)
        await db.query(`update ${table} set ${column} = $2 where ${key} = $1 and ${column} = $3`, [
          id,
          rewritten,
          value,
        ])
    }
    if (rows.length < BATCH) return count
  }
}
