import type { AgentId } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { VerifiedAssertion } from './client-assertion.ts'
import type { VerifiedKeyProof } from './key-proof.ts'

/** `used`: the assertion was used before. `not-current`: the client is not active, or the key is not one of its current keys. */
export type JtiOutcome = 'accepted' | 'used' | 'not-current'

/**
 * Stores a hash of the `jti` of each used client assertion, so each assertion is accepted once. The hashes are in
 * PostgreSQL, because Redis could lose them.
 */
export interface UsedJtiStore {
  /**
   * Marks an assertion as used, atomically across all instances. The same statement reads the agent's row, so a
   * process with a stale cache rejects a key that was replaced. `set_config` in the statement makes the commit
   * synchronous, so a crash of PostgreSQL does not lose the mark.
   */
  markUsed(assertion: VerifiedAssertion): Promise<JtiOutcome>
  /**
   * Marks an assertion of an app as used. Does not check whether the key is still current.
   *
   * @returns false if the assertion was used before
   */
  markUsedByApp(assertion: VerifiedAssertion): Promise<boolean>
}

export function createUsedJtiStore(db: Database): UsedJtiStore {
  return {
    async markUsed({ clientId, jti, key, expiresAt }) {
      const { rows } = await db.query<{ isCurrent: boolean; isAdded: boolean }>(
        `with client as materialized (
           select from agents
           where id = $3 and status = 'active' and jwks @> $4::jsonb
             and set_config('synchronous_commit', 'on', true) = 'on'
         ), added as (
           insert into client_assertions (assertion_hash, expires_at) select $1, $2 from client
           on conflict do nothing returning true
         )
         select exists (select from client) as "isCurrent", exists (select from added) as "isAdded"`,
        [sha256(`${clientId}\n${jti}`), expiresAt, clientId, JSON.stringify([key])],
      )
      const [row] = rows
      if (!row?.isCurrent) return 'not-current'
      return row.isAdded ? 'accepted' : 'used'
    },
    async markUsedByApp({ clientId, jti, expiresAt }) {
      const { rowCount } = await db.query(
        `insert into client_assertions (assertion_hash, expires_at)
         select $1, $2 where set_config('synchronous_commit', 'on', true) = 'on' on conflict do nothing`,
        [sha256(`${clientId}\n${jti}`), expiresAt],
      )
      return rowCount === 1
    },
  }
}

/**
 * Marks all key proofs as used, or none, in the transaction that stores the keys. The caller must have locked the client's
 * row, so no other request uses a proof of this client in the meantime.
 *
 * @returns false if a proof was used before, or two proofs have the same `jti`
 */
export async function markKeyProofsUsed(
  tx: Database,
  clientId: AgentId,
  proofs: readonly VerifiedKeyProof[],
): Promise<boolean> {
  if (proofs.length === 0) return true
  // The label lets a client use the same jti in an assertion and in a proof.
  const hashes = proofs.map(({ jti }) => sha256(`${clientId}\njwks-proof\n${jti}`))
  const usedRows = await tx.query('select from client_assertions where assertion_hash = any($1)', [hashes])
  const isRepeated = new Set(proofs.map(({ jti }) => jti)).size < proofs.length
  if (isRepeated || usedRows.rowCount !== 0) return false
  await tx.query(
    `insert into client_assertions (assertion_hash, expires_at)
     select * from unnest($1::bytea[], $2::timestamptz[])`,
    [hashes, proofs.map(({ expiresAt }) => expiresAt)],
  )
  return true
}

/** The tolerated clock skew between instances: if a `jti` were deleted too early, its assertion could be used twice. */
const CLOCK_SKEW_MS = 60_000

/**
 * Deletes at most 1,000 entries whose assertion or proof expired at least a minute ago.
 *
 * @returns the number of deleted entries
 */
export const sweepUsedJtis = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    {
      table: 'client_assertions',
      keyColumn: 'assertion_hash',
      where: 'expires_at <= $1',
      orderBy: 'expires_at',
    },
    [new Date(now.getTime() - CLOCK_SKEW_MS)],
  )
