import { err, ok, type Result } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { lockActiveAgent } from '../clients/credential-version.ts'
import type { IdentityAssertion } from './identity-assertion.ts'

/** A client normally needs one assertion a day. The limit is higher, for a client that loses its assertions. */
const MAX_PER_VERIFICATION = 20

/**
 * Why an assertion was not stored. `inactive`: the agent is not active, or one of its credentials was removed after it was
 * authenticated. `ended`: the verification has ended, has expired or does not exist.
 */
export type AddAssertionRefusal = 'inactive' | 'ended'

/** Stores which identity assertions can be exchanged. E-mail verifications are in the table `claims`. */
export interface IdentityAssertionStore {
  /**
   * Stores an assertion before it is signed, if its verification is valid. Deletes all but the newest 20 assertions of the
   * verification, so a client that requests more revokes its oldest ones.
   *
   * @param credentialVersion see `AuthenticatedAgent`
   */
  add(assertion: IdentityAssertion, credentialVersion: number): Promise<Result<void, AddAssertionRefusal>>
  /**
   * Finds when the verification of an assertion expires.
   *
   * @returns undefined if the assertion is not the client's, or if it or its verification is not valid at `now`
   */
  findVerificationExpiry(
    assertion: Pick<IdentityAssertion, 'jti' | 'verificationId' | 'clientId'>,
    now: Date,
  ): Promise<Date | undefined>
}

export function createIdentityAssertionStore(db: Pool): IdentityAssertionStore {
  return {
    add: (assertion, credentialVersion) =>
      db.transaction(async (tx) => {
        if (!(await lockActiveAgent(tx, { id: assertion.clientId, credentialVersion })))
          return err('inactive')
        const { rowCount } = await tx.query(
          `insert into identity_assertions (jti, claim_id, issued_at, expires_at)
           select $1, id, $3, $4 from claims where id = $2 and ended_at is null and expires_at > $3`,
          [assertion.jti, assertion.verificationId, assertion.issuedAt, assertion.expiresAt],
        )
        if (rowCount !== 1) return err('ended')
        await deleteAllButNewest(tx, assertion.verificationId)
        return ok(undefined)
      }),
    async findVerificationExpiry({ jti, verificationId, clientId }, now) {
      const { rows } = await db.query(
        `select claims.expires_at from identity_assertions join claims on claims.id = claim_id
         where jti = $1 and claim_id = $2 and agent_id = $3
           and identity_assertions.expires_at > $4 and claims.expires_at > $4 and ended_at is null`,
        [jti, verificationId, clientId, now],
      )
      return rows[0] && z.object({ expires_at: z.date() }).parse(rows[0]).expires_at
    },
  }
}

async function deleteAllButNewest(tx: Database, verificationId: string): Promise<void> {
  await tx.query(
    `delete from identity_assertions where jti in
       (select jti from identity_assertions where claim_id = $1 order by issued_at desc, jti offset ${MAX_PER_VERIFICATION})`,
    [verificationId],
  )
}

/**
 * Deletes at most 1,000 expired assertions.
 *
 * @returns the number of deleted assertions
 */
export const sweepIdentityAssertions = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'identity_assertions', keyColumn: 'jti', where: 'expires_at <= $1' }, [now])
