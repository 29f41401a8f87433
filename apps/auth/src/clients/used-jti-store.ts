import type { AgentId } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { VerifiedAssertion } from './client-assertion.ts'
import type { VerifiedKeyProof } from './key-proof.ts'

export type UsedJtiStore = ReturnType<typeof usedJtiStore>

/**
 * The `jti` values of client assertions that were used, which make each good once. In Postgres, since a Redis that is
 * flushed would forget them.
 */
export function usedJtiStore(db: Database) {
  return {
    /**
     * Uses an assertion up. The agent's row is asked in the same statement: a key that was replaced is refused also by a
     * process that has not heard of it.
     *
     * @returns false when it was used already, or the key is not the client's any more. Atomic over all instances.
     */
    async use({ clientId, jti, key, expiresAt }: VerifiedAssertion): Promise<boolean> {
      const { rowCount } = await db.query(
        `insert into client_assertions (assertion_hash, expires_at)
         select $1, $2 from agents
         where id = $3 and status = 'active' and jwks @> $4::jsonb
           and set_config('synchronous_commit', 'on', true) = 'on'
         on conflict do nothing`,
        [sha256(`${clientId}\n${jti}`), expiresAt, clientId, JSON.stringify([key])],
      )
      return rowCount === 1
    },
  }
}

/**
 * Uses proofs of keys up, all or none, in the transaction that stores the keys. Whoever calls holds the lock of the client's
 * row, so nobody else uses up a proof of this client meanwhile.
 *
 * @returns false when one of them was used already
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

/** Clocks of instances differ; one that goes too early lets an assertion in twice. */
const MARGIN_MS = 60_000

/** Deletes at most 1 000 of assertions that have been over for a minute. @returns how many went */
export const sweepUsedJtis = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    { table: 'client_assertions', key: 'assertion_hash', where: 'expires_at <= $1 order by expires_at' },
    [new Date(now.getTime() - MARGIN_MS)],
  )
