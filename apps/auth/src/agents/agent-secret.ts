import type { AgentId } from '@plainpath/domain'
import { type Database, deleteBatch, rowReader } from '@plainpath/postgres'
import { z } from 'zod'

/** A client secret as it is stored: `digest` is HMAC-SHA-256 under the hash key named `keyId`. */
const AgentSecret = z.object({
  id: z.string(),
  digest: z.instanceof(Buffer),
  keyId: z.string(),
  createdAt: z.date(),
  /** The secret is rejected from this time; absent for one that does not expire. */
  endsAt: z.date().optional(),
})
export type AgentSecret = Readonly<z.infer<typeof AgentSecret>>
const SecretRow = rowReader(AgentSecret)

export const isAccepted = ({ endsAt }: Pick<AgentSecret, 'endsAt'>, now: Date): boolean =>
  endsAt === undefined || endsAt > now

/** Reads all secrets of an agent, expired ones included, oldest first. */
export async function findSecrets(db: Database, id: AgentId): Promise<AgentSecret[]> {
  const { rows } = await db.query(
    `select id, secret_hash as digest, hash_key_id as key_id, created_at, ends_at from agent_secrets
     where agent_id = $1 order by created_at, ends_at nulls last`,
    [id],
  )
  return rows.map((row) => SecretRow.parse(row))
}

export const acceptedSecrets = async (tx: Database, id: AgentId, at: Date) =>
  (await findSecrets(tx, id)).filter((secret) => isAccepted(secret, at))

/** Allows for clock skew between instances. */
const MARGIN_MS = 60_000

/** Deletes at most 1 000 secrets that expired at least a minute ago. @returns how many */
export const sweepSecrets = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'agent_secrets', key: 'id', where: 'ends_at <= $1 order by ends_at' }, [
    new Date(now.getTime() - MARGIN_MS),
  ])
