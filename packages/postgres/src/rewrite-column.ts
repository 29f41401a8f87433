import { z } from 'zod'
import type { Database } from './database.ts'

/** A column of bytes, each of which `rewrite` may put into another form. */
interface RewrittenColumn {
  readonly table: string
  readonly column: string
  /** The primary key. */
  readonly key: string
  /** @returns undefined for one that stays as it is */
  rewrite(value: Buffer, key: string): Buffer | undefined
}

const Row = z.object({ id: z.string(), value: z.instanceof(Buffer) })
const BATCH = 500

/**
 * Rewrites the values of a column, some at a time, while others read and write it: one that changes meanwhile is left
 * as they wrote it.
 *
 * @param options.trial counts, and changes nothing
 * @returns how many it rewrote @throws what `rewrite` throws; those before it stay rewritten
 */
export async function rewriteColumn(
  db: Database,
  { table, column, key, rewrite }: RewrittenColumn,
  { trial }: { trial: boolean },
): Promise<number> {
  let moved = 0
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
      moved += 1
      if (!trial)
        await db.query(`update ${table} set ${column} = $2 where ${key} = $1 and ${column} = $3`, [
          id,
          rewritten,
          value,
        ])
    }
    if (rows.length < BATCH) return moved
  }
}
