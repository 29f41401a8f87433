/*
 * The DPoP proofs (RFC 9449) that were used, so that all instances together accept each once: in Redis where tokens are in
 * Redis, else in PostgreSQL. Why a Redis that loses them does no harm: decision 37.
 */
import type { Database } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { Redis } from 'ioredis'

interface UsedProof {
  /** The authenticated client that sent it. Clients cannot use up the `jti` of each other. */
  readonly clientId: string
  readonly jti: string
  /** From this time it is rejected as too old. */
  readonly expiresAt: Date
}

/** Each implementation passes `used-proof-store.contract.ts`. */
export interface UsedProofStore {
  /** Marks a proof as used, in one atomic step. @returns false when it was used before @throws when the store is unavailable */
  use(proof: UsedProof): Promise<boolean>
}

/** A client may use one `jti` in an assertion, in a proof of a new key and in a DPoP proof. */
const proofHash = ({ clientId, jti }: UsedProof) => sha256(`${clientId}\ndpop\n${jti}`)

/** Opens the store in PostgreSQL, beside the used assertions; `sweepUsedJtis` deletes from it. */
export const postgresUsedProofs = (db: Database): UsedProofStore => ({
  async use(proof) {
    const { rowCount } = await db.query(
      'insert into client_assertions (assertion_hash, expires_at) values ($1, $2) on conflict do nothing',
      [proofHash(proof), proof.expiresAt],
    )
    return rowCount === 1
  },
})

/** Opens the store in Redis, where each proof expires by itself. @param prefix of every key, such as `auth:` */
export const redisUsedProofs = (redis: Redis, { prefix }: { prefix: string }): UsedProofStore => ({
  async use(proof) {
    const key = `${prefix}proof:${proofHash(proof).toString('base64url')}`
    return (await redis.set(key, '', 'PXAT', proof.expiresAt.getTime(), 'NX')) === 'OK'
  },
})
