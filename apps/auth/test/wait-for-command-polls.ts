import type { Database } from '@plainpath/postgres'
import { expect } from 'vitest'

/**
 * Waits until `resource-servers rotate` or `finish` has polled the instances twice. After the second poll, the command
 * has changed the file, and is waiting for an instance that is behind. A poll is recognised by its SQL statement, which only
 * commands run.
 */
export async function waitForCommandPolls(db: Database): Promise<void> {
  const pollTimes = new Set<string>()
  const countPolls = async () => {
    const { rows } = await db.query<{ at: string }>(
      `select query_start::text as at from pg_stat_activity
       where datname = current_database() and query like 'select client_id, fingerprint,%'`,
    )
    for (const { at } of rows) pollTimes.add(at)
    return pollTimes.size
  }
  await expect.poll(countPolls, { timeout: 10_000, interval: 20 }).toBeGreaterThan(1)
}
