import type { AgentId } from '@plainpath/domain'
import { createRowReader, type Database, deleteBatch } from '@plainpath/postgres'
import { z } from 'zod'

/** The stored form of a client secret. `digest` is HMAC-SHA-256 under the hash key with the id `keyId`. */
const AgentSecret = z.object({
  id: z.string(),
  digest: z.instanceof(Buffer),
  keyId: z.string(),
  createdAt: z.date(),
  /** The secret is rejected from this time on. Absent if the secret does not expire. */
  endsAt: z.date().optional(),
})
export type AgentSecret = Readonly<z.infer<typeof AgentSecret>>
const secretRowReader = createRowReader(AgentSecret)

export const isSecretAccepted = ({ endsAt }: Pick<AgentSecret, 'endsAt'>, now: Date): boolean =>
  endsAt === undefined || endsAt > now

/** Reads all secrets of an agent, expired ones included, oldest first. */
export async function findSecrets(db: Database, id: AgentId): Promise<AgentSecret[]> {
  const { rows } = await db.query(
    `select id, secret_hash as digest, hash_key_id as key_id, created_at, ends_at from agent_secrets
     where agent_id = $1 order by created_at, ends_at nulls last`,
    [id],
  )
  return rows.map((row) => secretRowReader.parse(row))
}

export const findAcceptedSecrets = async (tx: Database, id: AgentId, now: Date) =>
  (await findSecrets(tx, id)).filter((secret) => isSecretAccepted(secret, now))

/** The tolerated clock skew between instances: an instance whose clock is slow still accepts a secret that has just expired. */
const CLOCK_SKEW_MS = 60_000

/**
 * Deletes at most 1,000 secrets that expired at least a minute ago.
 *
 * @returns the number of deleted secrets
 */
export const sweepSecrets = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'agent_secrets', keyColumn: 'id', where: 'ends_at <= $1', orderBy: 'ends_at' }, [
    new Date(now.getTime() - CLOCK_SKEW_MS),
  ])
