import { type AgentId, err, ok } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { type AgentSecretStore, MAX_SECRETS } from './agent-secret-store.ts'
import { type AgentSecret, isAccepted } from './agent-store.ts'

const Row = z
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
  return rows.map((row) => Row.parse(row))
}

async function insertSecret(tx: Database, id: AgentId, secret: AgentSecret): Promise<void> {
  await tx.query(
    'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
    [secret.id, id, secret.digest, secret.keyId, secret.createdAt, secret.endsAt ?? null],
  )
}

/** Secrets in Postgres. Whatever changes them holds the lock of the agent's row, and its trigger tells of the change. */
export function postgresAgentSecrets(db: Pool): AgentSecretStore {
  const changing = <T>(id: AgentId, work: (tx: Database, agent: LockedAgent | undefined) => Promise<T>) =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const { rows } = await tx.query<LockedAgent>(
        `select jwks is not null as keyed, generation from agents where id = $1 and status = 'active'
         for no key update`,
        [id],
      )
      return await work(tx, rows[0])
    })
  const accepted = async (tx: Database, id: AgentId, now: Date) =>
    (await secretsOf(tx, id)).filter((secret) => isAccepted(secret, now))
  return {
    addSecret: (id, secret, oldEndsAt) =>
      changing(id, async (tx, agent) => {
        if (!agent) return err('ended')
        if (agent.keyed) return err('has-keys')
        if ((await accepted(tx, id, secret.createdAt)).length >= MAX_SECRETS) return err('too-many')
        await tx.query('update agent_secrets set ends_at = $2 where agent_id = $1 and ends_at is null', [
          id,
          oldEndsAt,
        ])
        await insertSecret(tx, id, secret)
        return ok(await accepted(tx, id, secret.createdAt))
      }),
    endSecret: (id, secretId, now, announce) =>
      changing(id, async (tx, agent) => {
        if (!agent) return { outcome: 'ended' }
        const secrets = await accepted(tx, id, now)
        if (!secrets.some((secret) => secret.id === secretId))
          return { outcome: 'unknown', generation: agent.generation }
        if (secrets.length === 1) return { outcome: 'last' }
        await tx.query('delete from agent_secrets where id = $1', [secretId])
        await tx.query('update agent_secrets set ends_at = null where agent_id = $1 and ends_at > $2', [
          id,
          now,
        ])
        await tx.query('update agents set generation = generation + 1 where id = $1', [id])
        const generation = agent.generation + 1
        await announce(generation)
        return { outcome: 'gone', generation }
      }),
  }
}

interface LockedAgent {
  readonly keyed: boolean
  readonly generation: number
}

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
