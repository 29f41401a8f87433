import { Agent, type AgentId } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { AgentRecord, AgentStore } from './agent-store.ts'
import { secretsOf } from './postgres-agent-secrets.ts'

const AgentRow = z.object({
  id: z.string(),
  name_sealed: z.instanceof(Buffer).nullable(),
  scopes: z.array(z.string()),
  status: z.string(),
  generation: z.int(),
  registered_at: z.date(),
  last_used_at: z.date().nullable(),
  jwks: z.array(z.unknown()).nullable(),
})

const AGENT_COLUMNS = Object.keys(AgentRow.shape).join(', ')
/** What a name is sealed for. */
export const nameContext = (id: string) => `agents/${id}/name`

/**
 * Agents in Postgres; names are sealed with the agent's id as context.
 *
 * @param hooks.onDeleted ends what hangs on an agent, in the transaction that deletes it
 */
export function postgresAgentStore(
  db: Pool,
  keys: SealingKeys,
  hooks: { onDeleted?: (tx: Database, id: AgentId) => Promise<void> } = {},
): AgentStore {
  const toAgent = (row: unknown): Agent => {
    const {
      name_sealed: sealed,
      registered_at: registeredAt,
      last_used_at,
      jwks,
      ...rest
    } = AgentRow.parse(row)
    const name = sealed ? keys.open(sealed, nameContext(rest.id)).toString('utf8') : undefined
    return Agent.parse({
      ...{ ...rest, registeredAt, keys: jwks ?? [] },
      ...(last_used_at && { lastUsedAt: last_used_at }),
      ...(name !== undefined && { name }),
    })
  }
  return {
    add: (record) => insert(db, record, keys),
    async find(id) {
      const { rows } = await db.query(`select ${AGENT_COLUMNS} from agents where id = $1`, [id])
      if (!rows[0]) return undefined
      return { agent: toAgent(rows[0]), secrets: await secretsOf(db, id) }
    },
    end: (id, status, announce) =>
      db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const { rows } = await tx.query<{ generation: number }>(
          `update agents set status = $2, generation = generation + 1,
                  name_sealed = case when $2 = 'deleted' then null else name_sealed end,
                  jwks = case when $2 = 'deleted' then null else jwks end
           where id = $1 and status <> 'deleted' returning generation`,
          [id, status],
        )
        const generation = rows[0]?.generation
        if (generation === undefined) return undefined
        if (status === 'deleted') {
          await tx.query('delete from agent_secrets where agent_id = $1', [id])
          await hooks.onDeleted?.(tx, id)
        }
        await announce(generation)
        return generation
      }),
    replaceKeys: (id, jwks) =>
      db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const { rows } = await tx.query(
          `update agents set jwks = $2::jsonb where id = $1 and status = 'active' returning ${AGENT_COLUMNS}`,
          [id, JSON.stringify(jwks)],
        )
        if (!rows[0]) return undefined
        await tx.query('delete from agent_secrets where agent_id = $1', [id])
        return toAgent(rows[0])
      }),

    enable: (id, now) => changesOne(db, ENABLE, [id, now]),
    markUsed: (id, now) => changesOne(db, MARK_USED, [id, now]),
    async list(limit) {
      const { rows } = await db.query(
        `select ${AGENT_COLUMNS} from agents order by registered_at desc, id limit $1`,
        [limit],
      )
      return rows.map(toAgent)
    },
  }
}

const ENABLE = `update agents set status = 'active', last_used_at = $2 where id = $1 and status = 'disabled'`
const MARK_USED = `update agents set last_used_at = greatest(last_used_at, $2) where id = $1 and status = 'active'
  and set_config('synchronous_commit', 'on', true) = 'on'`

const changesOne = async (db: Database, statement: string, values: readonly unknown[]): Promise<boolean> =>
  (await db.query(statement, values)).rowCount === 1

const INSERT = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, jwks)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb) returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at)
  select secret.id, agent.id, secret.hash, secret.key_id, secret.created_at, secret.ends_at
  from agent, unnest($9::uuid[], $10::bytea[], $11::text[], $12::timestamptz[], $13::timestamptz[])
    as secret (id, hash, key_id, created_at, ends_at)`

/** One statement, so one round trip: all rows are kept or none. */
async function insert(db: Database, { agent, secrets }: AgentRecord, keys: SealingKeys): Promise<void> {
  const name = agent.name === undefined ? null : keys.seal(agent.name, nameContext(agent.id))
  await db.query(
    INSERT,
    [
      ...[agent.id, name, agent.scopes, agent.status, agent.generation, agent.registeredAt],
      ...[agent.lastUsedAt ?? null, agent.keys.length > 0 ? JSON.stringify(agent.keys) : null],
      secrets.map(({ id }) => id),
      secrets.map(({ digest }) => digest),
      secrets.map(({ keyId }) => keyId),
      secrets.map(({ createdAt }) => createdAt),
      secrets.map(({ endsAt }) => endsAt ?? null),
    ],
    'add-agent',
  )
}
