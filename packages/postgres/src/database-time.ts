import type { Database } from './database.ts'

/** The server's clock, not the beginning of a transaction. */
export async function databaseTime(db: Database): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('select clock_timestamp() as at')
  const [row] = rows
  if (!row) throw new Error('the database did not tell the time')
  return row.at
}

const MOST_APART_MS = 30_000

/**
 * False when the clock of this machine and the server's are more than half a minute apart: by it nothing is to be erased.
 *
 * @param wall milliseconds, as `Date.now` gives them
 */
// oxlint-disable-next-line no-restricted-properties -- the clock that is compared
export async function clockAgrees(db: Database, wall: () => number = Date.now): Promise<boolean> {
  const there = await databaseTime(db)
  return Math.abs(wall() - there.getTime()) <= MOST_APART_MS
}
