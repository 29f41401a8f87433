import { RULES } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import type { Redis } from '../open-redis.ts'
import type { VerifiedProof } from './dpop-proof.ts'

/**
 * Remembers used proofs, so that all instances together accept each proof only once. A proof is accepted for 70 s. It is
 * remembered for three minutes, which is longer than these 70 s plus twice the tolerated clock skew of 30 s.
 */
export interface UsedProofs {
  /**
   * Marks a proof as used, in one atomic step.
   *
   * @returns false when it was used before
   * @throws {UsedProofsUnavailable} when the store cannot tell whether the proof was used. Also throws PostgreSQL errors
   */
  use(proof: VerifiedProof): Promise<boolean>
}

/** Thrown when Redis cannot tell whether a proof was used. The API then responds with 503. */
export class UsedProofsUnavailable extends Error {
  override readonly name = 'UsedProofsUnavailable'
}

/** Hashes the key's thumbprint together with the `jti`, because clients with different keys may use the same `jti`. */
const hashProof = ({ jkt, jti }: VerifiedProof) => sha256(`${jkt}\n${jti}`)

/** Creates a store of used proofs that is backed by PostgreSQL. `sweepUsedProofs` deletes the expired proofs. */
export const createPostgresUsedProofs = (db: Database, now: () => Date): UsedProofs => ({
  async use(proof) {
    const expiresAt = new Date(now().getTime() + RULES.usedProofMs)
    const { rowCount } = await db.query(
      'insert into used_proofs (proof_hash, expires_at) values ($1, $2) on conflict do nothing',
      [hashProof(proof), expiresAt],
    )
    return rowCount === 1
  },
})

/** Deletes up to 1,000 proofs that no instance accepts any more, and returns how many. */
export const sweepUsedProofs = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    { table: 'used_proofs', keyColumn: 'proof_hash', where: 'expires_at <= $1', orderBy: 'expires_at' },
    [now],
  )

/** The Redis key for the replication ID and the Unix time when that ID was first seen. */
const REPLICATION_KEY = 'resource:proofs-since'

/**
 * Marks a proof as used, and updates `REPLICATION_KEY` when the replication ID has changed. KEYS are `REPLICATION_KEY` and,
 * optionally, the proof's key. ARGV are the proof's `iat` and the number of seconds for which to remember it.
 */
const USE_SCRIPT = `
local replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
local stored_id, since = string.match(redis.call('GET', KEYS[1]) or '', '^(%w+) (%d+)$')
if not replication_id or stored_id ~= replication_id then
  since = redis.call('TIME')[1]
  redis.call('SET', KEYS[1], (replication_id or '') .. ' ' .. since)
end
if not KEYS[2] then return 'started' end
if tonumber(ARGV[1]) < tonumber(since) then return 'forgotten' end
return redis.call('SET', KEYS[2], '', 'NX', 'EX', ARGV[2]) and 'accepted' or 'used'`

/**
 * Creates the store of used proofs in Redis, where they expire by themselves. When Redis restarts or a replica is promoted,
 * proofs may be lost, and the replication ID changes. A proof from before the change may have been used, so the store refuses it.
 */
export function createRedisUsedProofs(redis: Redis): UsedProofs {
  const runUseScript = (keys: string[], args: string[]) =>
    redis.eval(USE_SCRIPT, [REPLICATION_KEY, ...keys], args)
  // Sets `REPLICATION_KEY` on connect, so that its time is before all later proofs. If this fails, the first use sets the key.
  redis.onReady(() => void runUseScript([], []).catch(() => undefined))
  return {
    async use(proof) {
      const key = `resource:proof:${hashProof(proof).toString('base64url')}`
      const outcome = await runUseScript([key], [String(proof.iat), String(RULES.usedProofMs / 1_000)]).catch(
        (cause: unknown) => {
          throw new UsedProofsUnavailable('Redis did not store a used proof', { cause })
        },
      )
      if (outcome === 'accepted' || outcome === 'used') return outcome === 'accepted'
      throw new UsedProofsUnavailable('Redis may have forgotten whether the proof was used')
    },
  }
}
