import { type Database, deleteBatch, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import type { IdentityAssertion } from './identity-assertion.ts'

/** Assertions per claim. A client uses one for a day; more are for clients that lost theirs. */
const MAX_PER_CLAIM = 20

export type IdentityAssertionStore = ReturnType<typeof identityAssertionStore>

/** Stores which identity assertions may still be exchanged. */
export function identityAssertionStore(db: Pool) {
  return {
    /**
     * Stores an assertion before it is signed, unless its claim has ended. Only the newest 20 per claim remain valid: a
     * client that requests more revokes its oldest.
     *
     * @returns false when the claim has ended
     */
    add: (assertion: IdentityAssertion): Promise<boolean> =>
      db.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          `insert into identity_assertions (jti, claim_id, issued_at, expires_at)
           select $1, id, $3, $4 from claims where id = $2 and ended_at is null and expires_at > $3`,
          [assertion.jti, assertion.claimId, assertion.issuedAt, assertion.expiresAt],
        )
        if (rowCount !== 1) return false
        await endOldest(tx, assertion.claimId)
        return true
      }),
    /**
     * Finds when the claim of an assertion expires.
     *
     * @returns undefined when the assertion or its claim is not valid at `now`
     */
    async findClaimExpiry(
      { jti, claimId, clientId }: Pick<IdentityAssertion, 'jti' | 'claimId' | 'clientId'>,
      now: Date,
    ): Promise<Date | undefined> {
      const { rows } = await db.query(
        `select claims.expires_at from identity_assertions join claims on claims.id = claim_id
         where jti = $1 and claim_id = $2 and agent_id = $3
           and identity_assertions.expires_at > $4 and claims.expires_at > $4 and ended_at is null`,
        [jti, claimId, clientId, now],
      )
      return rows[0] && z.object({ expires_at: z.date() }).parse(rows[0]).expires_at
    },
  }
}

async function endOldest(tx: Database, claimId: string): Promise<void> {
  await tx.query(
    `delete from identity_assertions where jti in
       (select jti from identity_assertions where claim_id = $1 order by issued_at desc, jti offset ${MAX_PER_CLAIM})`,
    [claimId],
  )
}

/** Deletes at most 1 000 expired assertions. @returns how many */
export const sweepIdentityAssertions = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'identity_assertions', key: 'jti', where: 'expires_at <= $1' }, [now])
