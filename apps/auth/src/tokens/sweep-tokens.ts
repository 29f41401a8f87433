import { type Database, deleteBatch } from '@plainpath/postgres'

/**
 * Deletes at most 1,000 expired tokens.
 *
 * @returns the number of deleted tokens
 */
export const sweepTokens = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    { table: 'tokens', keyColumn: 'token_hash', where: 'expires_at <= $1', orderBy: 'expires_at' },
    [now],
  )
