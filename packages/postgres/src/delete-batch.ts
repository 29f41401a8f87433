import type { Database } from './database.ts'

const BATCH_SIZE = 1_000

/**
 * Deletes at most 1,000 rows in one statement. Concurrent calls are safe, because each skips rows that another call has
 * locked.
 *
 * The SQL strings are not escaped, so never build them from input.
 *
 * @param target.keyColumn a column that is unique
 * @param target.where the condition for the rows to delete
 * @param target.orderBy the columns that determine which rows are deleted first. Without it, PostgreSQL chooses
 * @param values the values of the parameters `$1`, `$2`, … of `where`
 * @returns the number of deleted rows
 */
export async function deleteBatch(
  db: Database,
  target: {
    readonly table: string
    readonly keyColumn: string
    readonly where: string
    readonly orderBy?: string
  },
  values: readonly unknown[],
): Promise<number> {
  const { table, keyColumn, where, orderBy } = target
  const order = orderBy === undefined ? '' : `order by ${orderBy}`
  const { rowCount } = await db.query(
    // `= any(array(…))` runs the subquery once. With `in (…)`, the planner may run it again, which would lock and delete more rows
    // than the limit.
    `delete from ${table} where ${keyColumn} = any(array(
       select ${keyColumn} from ${table} where ${where} ${order} limit ${BATCH_SIZE} for update skip locked))`,
    values,
  )
  return rowCount
}
