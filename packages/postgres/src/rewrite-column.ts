import { z } from 'zod'
import type { Database } from './database.ts'

/** A `bytea` column and the function that converts its values. */
interface RewrittenColumn {
  readonly table: string
  readonly column: string
  /** A column that identifies a row: the primary key, or another unique column that is never null. */
  readonly keyColumn: string
  /**
   * Converts a value.
   *
   * @returns undefined for a value that needs no change
   */
  rewrite(value: Buffer, key: string): Buffer | undefined
}

const Row = z.object({ id: z.string(), value: z.instanceof(Buffer) })
const BATCH_SIZE = 500

/**
 * Rewrites the values of a column in batches, while other processes read and write it. Does not overwrite a value that
 * changes in the meantime.
 *
 * @param options.dryRun if true, counts the values without changing them
 * @returns the number of values for which `rewrite` returned a new value
 * @throws the error of `rewrite`; earlier values remain rewritten
 */
export async function rewriteColumn(
  db: Database,
  { table, column, keyColumn, rewrite }: RewrittenColumn,
  { dryRun }: { dryRun: boolean },
): Promise<number> {
  let rewrittenCount = 0
  for (let lastKey: string | undefined; ; ) {
    const { rows } = await db.query(
      `select ${keyColumn} as id, ${column} as value from ${table}
       where ${column} is not null ${lastKey === undefined ? '' : `and ${keyColumn} > $1`} order by ${keyColumn} limit ${BATCH_SIZE}`,
      lastKey === undefined ? [] : [lastKey],
    )
    for (const row of rows) {
      const { id, value } = Row.parse(row)
      lastKey = id
      const newValue = rewrite(value, id)
      if (!newValue) continue
      rewrittenCount += 1
      if (!dryRun)
        await db.query(`update ${table} set ${column} = $2 where ${keyColumn} = $1 and ${column} = $3`, [
          id,
          newValue,
          value,
        ])
    }
    if (rows.length < BATCH_SIZE) return rewrittenCount
  }
}
