import { RULES } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import { inTime, type Redis } from '../open-redis.ts'
import type { VerifiedProof } from './dpop-proof.ts'

/**
 * Remembers the proofs that were used, so that all instances together accept each once: for longer than the 70 s in which a
 * proof is accepted, and twice the tolerated clock skew of 30 s.
 */
export interface UsedProofs {
  /**
   * Marks a proof as used, in one atomic step.
   *
   * @returns false when it was used before
   * @throws {UsedProofsUnavailable} when the store cannot know whether the proof was used; and the errors of PostgreSQL
   */
  use(proof: VerifiedProof): Promise<boolean>
}

/** Redis cannot know whether a proof was used. The request gets 503; the proof is never accepted. */
export class UsedProofsUnavailable extends Error {
  override readonly name = 'UsedProofsUnavailable'
}

/** Keys cannot use up the `jti` of each other. */
const proofHash = ({ jkt, jti }: VerifiedProof) => sha256(`${jkt}\n${jti}`)

/** Stores used proofs in PostgreSQL, until `sweepUsedProofs` deletes them. */
export const postgresUsedProofs = (db: Database, now: () => Date): UsedProofs => ({
  async use(proof) {
    const expiresAt = new Date(now().getTime() + RULES.usedProofMs)
    const { rowCount } = await db.query(
      'insert into used_proofs (proof_hash, expires_at) values ($1, $2) on conflict do nothing',
      [proofHash(proof), expiresAt],
    )
    return rowCount === 1
  },
})

/** Deletes at most 1 000 proofs that no instance accepts any more. @returns how many */
export const sweepUsedProofs = (db: Database, now: Date): Promise<number> =>
  deleteBatch(
    db,
    { table: 'used_proofs', key: 'proof_hash', where: 'expires_at <= $1 order by expires_at' },
    [now],
  )

/** The replication ID of Redis, and since when it has been that one, in seconds. */
const SINCE = 'resource:proofs-since'

/**
 * Sets `SINCE` under a new replication ID. KEYS: `SINCE`, and optionally a proof; ARGV: `iat` of the proof, and its lifetime
 * in seconds.
 */
const USE = `
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
local known, since = string.match(redis.call('GET', KEYS[1]) or '', '^(%w+) (%d+)$')
if not server or known ~= server then
  since = redis.call('TIME')[1]
  redis.call('SET', KEYS[1], (server or '') .. ' ' .. since)
end
if not KEYS[2] then return 'started' end
if tonumber(ARGV[1]) < tonumber(since) then return 'forgotten' end
return redis.call('SET', KEYS[2], '', 'NX', 'EX', ARGV[2]) and 'accepted' or 'used'`

/**
 * Stores used proofs in Redis, where each expires by itself. Redis may lose some when it restarts or a replica is promoted, and
 * then has another replication ID. A proof that was made before that may have been used, so the store refuses it.
 */
export function redisUsedProofs(redis: Redis): UsedProofs {
  const run = (keys: string[], args: string[]) => inTime(redis.eval(USE, [SINCE, ...keys], args))
  // Set early, so that it is not later than the first proofs. A failure leaves it to the first use.
  redis.onReady(() => void run([], []).catch(() => undefined))
  return {
    async use(proof) {
      const key = `resource:proof:${proofHash(proof).toString('base64url')}`
      const outcome = await run([key], [String(proof.iat), String(RULES.usedProofMs / 1_000)]).catch(
        (cause: unknown) => {
          throw new UsedProofsUnavailable('Redis did not store a used proof', { cause })
        },
      )
      if (outcome === 'accepted' || outcome === 'used') return outcome === 'accepted'
      throw new UsedProofsUnavailable('Redis may have forgotten whether the proof was used')
    },
  }
}
