import type { Database } from './database.ts'

const BATCH_SIZE = 1_000

/**
 * Deletes at most 1,000 rows in one statement. Concurrent calls are safe, because each skips rows that another call has
 * locked.
 *
 * @param rows SQL for the table, its key column and the condition, which may include an order
 * @returns the number of deleted rows
 */
export async function deleteBatch(
  db: Database,
  { table, keyColumn, where }: { readonly table: string; readonly keyColumn: string; readonly where: string },
  values: readonly unknown[],
): Promise<number> {
  const { rowCount } = await db.query(
    // An array is computed once. PostgreSQL may run the query of an `in` again, which then selects further rows.
    `delete from ${table} where ${keyColumn} = any(array(
       select ${keyColumn} from ${table} where ${where} limit ${BATCH_SIZE} for update skip locked))`,
    values,
  )
  return rowCount
}
