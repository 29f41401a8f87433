import type { Database } from './database.ts'

const BATCH = 1_000

/**
 * Deletes at most 1 000 rows in one statement. Concurrent calls are safe: each skips rows that another has locked.
 *
 * @param rows the table, its key, and the condition, which may include an order; in SQL
 * @returns how many rows it deleted
 */
export async function deleteBatch(
  db: Database,
  { table, key, where }: { readonly table: string; readonly key: string; readonly where: string },
  values: readonly unknown[],
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${table} where ${key} in
       (select ${key} from ${table} where ${where} limit ${BATCH} for update skip locked)`,
    values,
  )
  return rowCount
}
