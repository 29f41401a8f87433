import { Agent } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { AgentRecord, AgentSecret, AgentStore } from './agent-store.ts'

const AgentRow = z.object({
  id: z.string(),
  name_sealed: z.instanceof(Buffer).nullable(),
  scopes: z.array(z.string()),
  status: z.string(),
  generation: z.int(),
  registered_at: z.date(),
})
const SecretRow = z.object({
  id: z.string(),
  secret_hash: z.instanceof(Buffer),
  hash_key_id: z.string(),
  created_at: z.date(),
  ends_at: z.date().nullable(),
})

const AGENT_COLUMNS = 'id, name_sealed, scopes, status, generation, registered_at'
/** What a name is sealed for. */
export const nameContext = (id: string) => `agents/${id}/name`

/** Agents in Postgres; names are sealed with the agent's id as context. */
export function postgresAgentStore(db: Pool, keys: SealingKeys): AgentStore {
  const toAgent = (row: unknown): Agent => {
    const { name_sealed: sealed, registered_at: registeredAt, ...rest } = AgentRow.parse(row)
    const name = sealed ? keys.open(sealed, nameContext(rest.id)).toString('utf8') : undefined
    return Agent.parse({ ...rest, registeredAt, ...(name !== undefined && { name }) })
  }
  return {
    add: (record) => db.transaction((tx) => insert(tx, record, keys)),
    async find(id) {
      const { rows } = await db.query(`select ${AGENT_COLUMNS} from agents where id = $1`, [id])
      if (!rows[0]) return undefined
      const secrets = await db.query(
        'select id, secret_hash, hash_key_id, created_at, ends_at from agent_secrets where agent_id = $1 order by created_at',
        [id],
      )
      return { agent: toAgent(rows[0]), secrets: secrets.rows.map(toSecret) }
    },
    end: (id, status, announce) =>
      db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const { rows } = await tx.query<{ generation: number }>(
          `update agents set status = $2, generation = generation + 1,
                  name_sealed = case when $2 = 'deleted' then null else name_sealed end
           where id = $1 and status <> 'deleted' returning generation`,
          [id, status],
        )
        const generation = rows[0]?.generation
        if (generation === undefined) return undefined
        if (status === 'deleted') await tx.query('delete from agent_secrets where agent_id = $1', [id])
        await announce(generation)
        return generation
      }),
    async enable(id) {
      const { rowCount } = await db.query(
        `update agents set status = 'active' where id = $1 and status = 'disabled'`,
        [id],
      )
      return rowCount === 1
    },
    async list(limit) {
      const { rows } = await db.query(
        `select ${AGENT_COLUMNS} from agents order by registered_at desc, id limit $1`,
        [limit],
      )
      return rows.map(toAgent)
    },
  }
}

async function insert(tx: Database, { agent, secrets }: AgentRecord, keys: SealingKeys): Promise<void> {
  const name = agent.name === undefined ? null : keys.seal(agent.name, nameContext(agent.id))
  await tx.query(
    'insert into agents (id, name_sealed, scopes, status, generation, registered_at) values ($1, $2, $3, $4, $5, $6)',
    [agent.id, name, agent.scopes, agent.status, agent.generation, agent.registeredAt],
  )
  for (const secret of secrets) {
    await tx.query(
      'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
      [secret.id, agent.id, secret.digest, secret.keyId, secret.createdAt, secret.endsAt ?? null],
    )
  }
}

function toSecret(row: unknown): AgentSecret {
  const {
    id,
    secret_hash: digest,
    hash_key_id: keyId,
    created_at: createdAt,
    ends_at: endsAt,
  } = SecretRow.parse(row)
  return { id, digest, keyId, createdAt, endsAt: endsAt ?? undefined }
}
