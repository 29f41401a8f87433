import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'

const Row = z.object({ id: z.string(), sealed: z.instanceof(Buffer) })
const BATCH = 500

/** A column of sealed values, and what each is sealed for. `key` is the primary key, a text. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly key: string
  context(key: string): string
}

/**
 * Seals the values of a column under the newest key-encryption key; one that changes meanwhile is under it already.
 *
 * @returns how many were under another one @throws {SealError} for a value that cannot be opened
 */
export async function rewrapColumn(
  db: Database,
  keys: SealingKeys,
  { table, column, key, context }: SealedColumn,
  { trial }: { trial: boolean },
): Promise<number> {
  let moved = 0
  for (let after = ''; ; ) {
    const { rows } = await db.query(
      `select ${key} as id, ${column} as sealed from ${table} where ${column} is not null and ${key} > $1
       order by ${key} limit ${BATCH}`,
      [after],
    )
    for (const row of rows) {
      const { id, sealed } = Row.parse(row)
      after = id
      const resealed = keys.reseal(sealed, context(id))
      if (!resealed) continue
      moved += 1
      if (!trial)
        await db.query(`update ${table} set ${column} = $2 where ${key} = $1 and ${column} = $3`, [
          id,
          resealed,
          sealed,
        ])
    }
    if (rows.length < BATCH) return moved
  }
}
