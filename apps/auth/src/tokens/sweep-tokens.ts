import type { Database } from '@plainpath/postgres'

const BATCH = 1_000

/** Deletes at most 1 000 tokens that have expired. @returns how many went */
export async function sweepTokens(db: Database, now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `delete from tokens where token_hash in
       (select token_hash from tokens where expires_at <= $1 order by expires_at limit ${BATCH} for update skip locked)`,
    [now],
  )
  return rowCount
}
