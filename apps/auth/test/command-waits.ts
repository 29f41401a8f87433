import type { Database } from '@plainpath/postgres'
import { expect } from 'vitest'

/**
 * Waits until `resource-servers rotate` or `finish` has polled the instances twice: by then it has changed the file, and
 * waits for an instance that is behind. Only commands run this statement.
 */
export async function commandWaits(db: Database): Promise<void> {
  const polls = new Set<string>()
  const poll = async () => {
    const { rows } = await db.query<{ at: string }>(
      `select query_start::text as at from pg_stat_activity
       where datname = current_database() and query like 'select client_id, fingerprint,%'`,
    )
    for (const { at } of rows) polls.add(at)
    return polls.size
  }
  await expect.poll(poll, { timeout: 10_000, interval: 20 }).toBeGreaterThan(1)
}
