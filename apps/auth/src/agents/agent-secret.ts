import type { AgentId } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'

/** A secret as it is kept: `digest` is HMAC-SHA-256 under the hash key named `keyId`. */
export interface AgentSecret {
  readonly id: string
  readonly digest: Buffer
  readonly keyId: string
  readonly createdAt: Date
  /** From then on the secret is not accepted; undefined for one that stays. */
  readonly endsAt: Date | undefined
}

export const isAccepted = ({ endsAt }: Pick<AgentSecret, 'endsAt'>, now: Date): boolean =>
  endsAt === undefined || endsAt > now

const SecretRow = z
  .object({
    id: z.string(),
    secret_hash: z.instanceof(Buffer),
    hash_key_id: z.string(),
    created_at: z.date(),
    ends_at: z.date().nullable(),
  })
  .transform(
    (row): AgentSecret => ({
      id: row.id,
      digest: row.secret_hash,
      keyId: row.hash_key_id,
      createdAt: row.created_at,
      endsAt: row.ends_at ?? undefined,
    }),
  )

/** The oldest first. */
export async function secretsOf(db: Database, id: AgentId): Promise<AgentSecret[]> {
  const { rows } = await db.query(
    `select id, secret_hash, hash_key_id, created_at, ends_at from agent_secrets
     where agent_id = $1 order by created_at, ends_at nulls last`,
    [id],
  )
  return rows.map((row) => SecretRow.parse(row))
}

export const acceptedSecrets = async (tx: Database, id: AgentId, at: Date) =>
  (await secretsOf(tx, id)).filter((secret) => isAccepted(secret, at))

const BATCH = 1_000
/** Clocks of instances differ. */
const MARGIN_MS = 60_000

/** Deletes at most 1 000 secrets that ended a minute ago. @returns how many went */
export async function sweepSecrets(db: Database, now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `delete from agent_secrets where id in
       (select id from agent_secrets where ends_at <= $1 order by ends_at limit ${BATCH} for update skip locked)`,
    [new Date(now.getTime() - MARGIN_MS)],
  )
  return rowCount
}
