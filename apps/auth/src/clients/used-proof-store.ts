/*
 * Stores used DPoP proofs (RFC 9449), so all instances together accept each proof once. The proofs are in Redis if
 * the tokens are, and otherwise in PostgreSQL. Decision 37 explains why losing them in Redis does little harm.
 */
import type { Database } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { Redis } from 'ioredis'

interface UsedProof {
  /** The authenticated client that sent the proof. Each client has its own `jti` values. */
  readonly clientId: string
  readonly jti: string
  /** The proof is rejected as too old from this time on. */
  readonly expiresAt: Date
}

/** Stores used proofs. Each implementation passes `used-proof-store.contract.ts`. */
export interface UsedProofStore {
  /**
   * Marks a proof as used, in one atomic step.
   *
   * @returns false if it was used before
   * @throws if the store is unavailable
   */
  markUsed(proof: UsedProof): Promise<boolean>
}

/** Hashes a proof. The label lets a client use the same `jti` in an assertion, in a proof of a new key and in a DPoP proof. */
const hashProof = ({ clientId, jti }: UsedProof) => sha256(`${clientId}\ndpop\n${jti}`)

/** Creates a store that is backed by the PostgreSQL table of used client assertions. `sweepUsedJtis` deletes expired rows. */
export const createPostgresUsedProofStore = (db: Database): UsedProofStore => ({
  async markUsed(proof) {
    const { rowCount } = await db.query(
      'insert into client_assertions (assertion_hash, expires_at) values ($1, $2) on conflict do nothing',
      [hashProof(proof), proof.expiresAt],
    )
    return rowCount === 1
  },
})

/**
 * Creates a store that is backed by Redis, where each proof expires by itself.
 *
 * @param prefix the prefix of every key, such as `auth:`
 */
export const createRedisUsedProofStore = (redis: Redis, { prefix }: { prefix: string }): UsedProofStore => ({
  async markUsed(proof) {
    const key = `${prefix}proof:${hashProof(proof).toString('base64url')}`
    return (await redis.set(key, '', 'PXAT', proof.expiresAt.getTime(), 'NX')) === 'OK'
  },
})
