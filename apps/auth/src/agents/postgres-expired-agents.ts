import { AgentId, AgentKey } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { LIFE } from './agent-life.ts'
import type { EndedAgent, ExpiringAgents, ExpiryCause } from './expired-agents.ts'

const BATCH = 200
const FORGET_BATCH = 1_000

const Row = z
  .object({
    id: AgentId,
    cause: z.enum(['never-used', 'idle', 'flood']),
    secret_hashes: z.array(z.instanceof(Buffer)),
    hash_key_ids: z.array(z.string()),
    jwks: z.array(AgentKey).nullable(),
    expired_at: z.date(),
  })
  .transform((row) => ({
    id: row.id,
    cause: row.cause,
    secrets: row.secret_hashes.map((digest, index) => ({ digest, keyId: row.hash_key_ids[index] ?? '' })),
    keys: row.jwks ?? [],
    expiredAt: row.expired_at,
  }))

/** @param hooks.removeClaims removes the claims of agents, in the transaction that removes those */
export function postgresExpiredAgents(
  db: Pool,
  hooks: { removeClaims: (tx: Database, ids: readonly AgentId[]) => Promise<void> },
): ExpiringAgents {
  async function remove(tx: Database, due: readonly EndedAgent[], cause: ExpiryCause, now: Date) {
    const ids = due.map(({ id }) => id)
    await tx.query(TOMBSTONES, [ids, cause, now])
    await hooks.removeClaims(tx, ids)
    await tx.query('delete from agent_secrets where agent_id = any($1)', [ids])
    await tx.query('delete from agents where id = any($1)', [ids])
  }
  return {
    expire: (now, { neverUsed }, announce) =>
      db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const ended: EndedAgent[] = []
        for (const { cause, where, values } of dueAgents(now, neverUsed)) {
          const due = await lockDue(tx, where, values, BATCH - ended.length)
          if (due.length > 0) await remove(tx, due, cause, now)
          ended.push(...due)
        }
        await announce(ended)
        return ended
      }),
    async find(id, now) {
      const { rows } = await db.query(
        `select id, cause, secret_hashes, hash_key_ids, jwks, expired_at from expired_agents
         where id = $1 and expired_at > $2`,
        [id, new Date(now.getTime() - LIFE.tombstoneMs)],
      )
      return rows[0] && Row.parse(rows[0])
    },
    async forget(now, { expired }) {
      const { rowCount } = await db.query(
        `delete from expired_agents where id in
           (select id from expired_agents
            where expired_at <= $1 or (expired_at, id) <= (${newestBeyond('expired_agents', 'expired_at', '$2')})
            order by expired_at, id limit ${FORGET_BATCH} for update skip locked)`,
        [new Date(now.getTime() - LIFE.tombstoneMs), expired],
      )
      return rowCount
    },
  }
}

/**
 * The newest row that is one too many. Who is older is too many as well, however many processes ask: a count that two of
 * them took down at once would be taken down twice.
 */
const newestBeyond = (table: string, time: string, bound: string) =>
  `select ${time}, id from ${table} order by ${time} desc, id desc offset ${bound} limit 1`

const NEVER_USED = `status = 'active' and last_used_at is null`

function dueAgents(
  now: Date,
  neverUsed: number,
): { cause: ExpiryCause; where: string; values: readonly unknown[] }[] {
  const before = (ms: number) => new Date(now.getTime() - ms)
  return [
    {
      cause: 'never-used',
      where: `${NEVER_USED} and registered_at <= $1 order by registered_at, id`,
      values: [before(LIFE.neverUsedMs)],
    },
    {
      cause: 'idle',
      where: `status = 'active' and last_used_at <= $1 order by last_used_at, id`,
      values: [before(LIFE.idleMs + LIFE.markMs)],
    },
    {
      cause: 'flood',
      where: `${NEVER_USED} and registered_at <= $1
        and (registered_at, id) <= (${newestBeyond(`agents where ${NEVER_USED}`, 'registered_at', '$2')})
        order by registered_at, id`,
      values: [before(LIFE.floodMs), neverUsed],
    },
  ]
}

/** Locked rows are read again before they are taken: an agent that has just got a token is not among them. */
async function lockDue(
  tx: Database,
  where: string,
  values: readonly unknown[],
  limit: number,
): Promise<EndedAgent[]> {
  const { rows } = await tx.query<{ id: string; generation: number }>(
    `select id, generation + 1 as generation from agents where ${where} limit ${limit} for update skip locked`,
    [...values],
  )
  return rows.map(({ id, generation }) => ({ id: AgentId.parse(id), generation }))
}

/** A secret that had ended is none, here too. */
const TOMBSTONES = `
  insert into expired_agents (id, cause, secret_hashes, hash_key_ids, jwks, expired_at)
  select agents.id, $2, array_remove(array_agg(secret_hash order by secret.id), null),
         array_remove(array_agg(hash_key_id order by secret.id), null), jwks, $3
  from agents left join agent_secrets secret on agent_id = agents.id and (ends_at is null or ends_at > $3)
  where agents.id = any($1) group by agents.id`
