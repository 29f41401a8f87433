import type { AgentId } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { VerifiedAssertion } from './client-assertion.ts'
import type { VerifiedKeyProof } from './key-proof.ts'

export type UsedJtiStore = ReturnType<typeof usedJtiStore>

export type JtiUse = 'accepted' | 'used' | 'not-current'

/**
 * Stores the `jti` of each used client assertion, so that each is accepted once. In PostgreSQL, since a flushed Redis
 * would forget them.
 */
export function usedJtiStore(db: Database) {
  return {
    /**
     * Marks an assertion as used, atomically over all instances. The same statement reads the agent's row, so that a
     * process with a stale cache rejects a key that was replaced.
     *
     * @returns `used`: it was used before. `not-current`: the key is no longer one of an active client.
     */
    async use({ clientId, jti, key, expiresAt }: VerifiedAssertion): Promise<JtiUse> {
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
    /** Marks an assertion of an app as used. Its keys are in no row: the caller has just read them. @returns false when it was used before */
    async useForApp({ clientId, jti, expiresAt }: VerifiedAssertion): Promise<boolean> {
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
 * Marks key proofs as used, all or none, in the transaction that stores the keys. The caller must hold the lock of the
 * client's row: it keeps other requests from using a proof of this client meanwhile.
 *
 * @returns false when one of them was used before
 */
export async function useKeyProofs(
  tx: Database,
  clientId: AgentId,
  proofs: readonly VerifiedKeyProof[],
): Promise<boolean> {
  if (proofs.length === 0) return true
  // A client may use one jti in an assertion and in a proof.
  const hashes = proofs.map(({ jti }) => sha256(`${clientId}\njwks-proof\n${jti}`))
  const used = await tx.query('select from client_assertions where assertion_hash = any($1)', [hashes])
  const isRepeated = new Set(proofs.map(({ jti }) => jti)).size < proofs.length
  if (isRepeated || used.rowCount !== 0) return false
  await tx.query(
    `insert into client_assertions (assertion_hash, expires_at)
     select * from unnest($1::bytea[], $2::timestamptz[])`,
    [hashes, proofs.map(({ expiresAt }) => expiresAt)],
  )
  return true
}

/** Allows for clock skew between instances: a `jti` deleted too early would let its assertion be used twice. */
const MARGIN_MS = 60_000

/** Deletes at most 1 000 entries whose assertion expired at least a minute ago. @returns how many */
export const sweepUsedJtis = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    { table: 'client_assertions', key: 'assertion_hash', where: 'expires_at <= $1 order by expires_at' },
    [new Date(now.getTime() - MARGIN_MS)],
  )
