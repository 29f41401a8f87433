import { expect } from 'vitest'
import type { Pool } from '../src/database.ts'

/**
 * Waits until exactly `count` sessions of the database wait for a lock of any kind.
 *
 * @param db a pool, because `pg_stat_activity` does not change within a transaction
 * @param timeoutMs must be shorter than the lock timeout of these sessions, after which they give up
 */
export async function waitForBlockedSessions(db: Pool, count: number, timeoutMs = 2_000): Promise<void> {
  const countBlocked = async () => {
    // `pg_locks` alone does not name the database of a transaction lock, for which an update of a locked row waits.
    const { rowCount } = await db.query(
      `select from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted`,
    )
    return rowCount
  }
  await expect.poll(countBlocked, { interval: 10, timeout: timeoutMs }).toBe(count)
}
