import { Agent, type AgentId, type AgentKey, err, ok, type Result } from '@plainpath/domain'
import { type Database, type Pool, rewriteColumn, rowReader } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { endClaimsOfAgent } from '../claims/postgres-claims.ts'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'
import { useKeyProofs } from '../clients/used-jti-store.ts'
import type { AuthEvents } from '../events.ts'
import { type AgentSecret, acceptedSecrets, secretsOf } from './agent-secret.ts'
import { compareKeys } from './compare-keys.ts'

export interface AgentRecord {
  readonly agent: Agent
  /** Empty for a deleted agent, and for one with keys. */
  readonly secrets: readonly AgentSecret[]
}

/** The generation that its tokens must have; undefined for one that is unknown or not active. */
export const activeGeneration = (record: AgentRecord | undefined): number | undefined =>
  record?.agent.status === 'active' ? record.agent.generation : undefined

const MAX_SECRETS = 2

/** `ended`: the agent is not active any more. */
export type AddSecretRefusal = 'ended' | 'has-keys' | 'too-many'

/** What became of a secret that was to go; `unknown`: it had gone, or never was. */
export type EndedSecret =
  | { readonly outcome: 'gone' | 'unknown'; readonly generation: number }
  | { readonly outcome: 'last' | 'ended' }

/** `unproven`: proofs came, and not for each new key. */
export type KeysFault = 'ended' | 'unproven' | 'proof-used'

export interface ReplacedKeys {
  readonly agent: Agent
  /** New keys that no proof came for, by `kid`. */
  readonly unproven: readonly string[]
}

const AgentRow = rowReader(
  Agent.omit({ name: true, keys: true }).extend({
    nameSealed: z.instanceof(Buffer).optional(),
    jwks: Agent.shape.keys,
  }),
)

/** What a name is sealed for. */
const nameContext = (id: string) => `agents/${id}/name`

export type AgentRepository = ReturnType<typeof agentRepository>

/**
 * Agents with their secrets and keys, in PostgreSQL. A trigger tells every instance of each change (`agents_changed`).
 * What ends something is durable when it returns, whatever the server's default.
 */
export function agentRepository(
  db: Pool,
  { sealingKeys, events, now }: { sealingKeys: SealingKeys; events: AuthEvents; now: () => Date },
) {
  function toAgent(row: Record<string, unknown>): Agent {
    const { nameSealed, jwks: keys, ...agent } = AgentRow.parse(row)
    if (!nameSealed) return { ...agent, keys }
    return { ...agent, keys, name: sealingKeys.open(nameSealed, nameContext(agent.id)).toString('utf8') }
  }

  /** Whatever changes secrets or keys holds the lock of the agent's row. */
  const changeCredentials = <T>(
    id: AgentId,
    work: (tx: Database, agent: LockedAgent | undefined) => Promise<T>,
  ) =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const { rows } = await tx.query(
        `select coalesce(jwks, '[]') as keys, generation from agents where id = $1 and status = 'active'
         for no key update`,
        [id],
      )
      return await work(tx, rows[0] && LockedAgent.parse(rows[0]))
    })

  return {
    /** Stores the agent with its first secret, or with its keys: in one statement, so one round trip, and all or nothing. */
    async add({ agent, secrets }: AgentRecord): Promise<void> {
      const name = agent.name === undefined ? null : sealingKeys.seal(agent.name, nameContext(agent.id))
      const values = [
        agent.id,
        name,
        agent.scopes,
        agent.status,
        agent.generation,
        agent.registeredAt,
        agent.lastUsedAt ?? null,
        agent.keys.length > 0 ? JSON.stringify(agent.keys) : null,
        secrets.map(({ id }) => id),
        secrets.map(({ digest }) => digest),
        secrets.map(({ keyId }) => keyId),
        secrets.map(({ createdAt }) => createdAt),
        secrets.map(({ endsAt }) => endsAt ?? null),
      ]
      await db.query(INSERT, values, 'add-agent')
    },

    async find(id: AgentId): Promise<AgentRecord | undefined> {
      const { rows } = await db.query(`select ${AgentRow.columns} from agents where id = $1`, [id])
      if (!rows[0]) return undefined
      return { agent: toAgent(rows[0]), secrets: await secretsOf(db, id) }
    },

    /** Newest first. @param limit 1 to 1000 */
    async list(limit: number): Promise<readonly Agent[]> {
      const { rows } = await db.query(
        `select ${AgentRow.columns} from agents order by registered_at desc, id limit $1`,
        [limit],
      )
      return rows.map(toAgent)
    },

    /**
     * Disables or deletes: raises the generation and, for a deletion, erases name, secrets and keys, and ends claims.
     * `announce` runs before the change becomes visible; if it throws, nothing changed.
     *
     * @returns the new generation, or undefined when there is no such agent or it is deleted already
     */
    async end(
      id: AgentId,
      status: 'disabled' | 'deleted',
      announce: (generation: number) => Promise<void>,
    ): Promise<number | undefined> {
      const ended = await db.transaction(async (tx) => {
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
          await endClaimsOfAgent(tx, id, now())
        }
        await announce(generation)
        return generation
      })
      if (ended !== undefined) events.emit('client-ended', { client_id: id, how: status })
      return ended
    },

    /** Counts as use: it does not expire at once. @returns false unless the agent was disabled */
    async enable(id: AgentId, at: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update agents set status = 'active', last_used_at = $2 where id = $1 and status = 'disabled'`,
        [id, at],
      )
      if (rowCount === 1) events.emit('client-enabled', { client_id: id })
      return rowCount === 1
    },

    /** Writes down that the agent is used. Durable when it returns. @returns false unless the agent is active */
    async markUsed(id: AgentId, at: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update agents set last_used_at = greatest(last_used_at, $2) where id = $1 and status = 'active'
           and set_config('synchronous_commit', 'on', true) = 'on'`,
        [id, at],
      )
      return rowCount === 1
    },

    /**
     * Replaces the keys of an active agent, ends its secrets and uses the proofs up. Atomic. Raises the generation when a key
     * or the secret goes, since nobody knows which tokens were got with which. `announce` runs before the change becomes
     * visible; if it throws, nothing changed.
     */
    async replaceKeys(
      id: AgentId,
      { keys, proofs }: { keys: readonly AgentKey[]; proofs: readonly VerifiedKeyProof[] },
      announce: (generation: number) => Promise<void>,
    ): Promise<Result<ReplacedKeys, KeysFault>> {
      const replaced = await changeCredentials<Result<ReplacedKeys, KeysFault>>(id, async (tx, before) => {
        if (!before) return err('ended')
        const { unproven, removes } = compareKeys(before.keys, keys, proofs)
        if (proofs.length > 0 && unproven.length > 0) return err('unproven')
        if (!(await useKeyProofs(tx, id, proofs))) return err('proof-used')
        const generation = before.generation + (removes ? 1 : 0)
        const { rows } = await tx.query(
          `update agents set jwks = $2::jsonb, generation = $3 where id = $1 returning ${AgentRow.columns}`,
          [id, JSON.stringify(keys), generation],
        )
        await tx.query('delete from agent_secrets where agent_id = $1', [id])
        await announce(generation)
        return ok({ agent: toAgent(rows[0] ?? {}), unproven })
      })
      if (replaced.ok) events.emit('keys-changed', { client_id: id })
      return replaced
    },

    /** Adds a secret without an end; the one before it ends at `oldEndsAt`. Atomic. @returns all that are accepted now */
    async addSecret(
      id: AgentId,
      secret: AgentSecret,
      oldEndsAt: Date,
    ): Promise<Result<readonly AgentSecret[], AddSecretRefusal>> {
      const added = await changeCredentials<Result<readonly AgentSecret[], AddSecretRefusal>>(
        id,
        async (tx, agent) => {
          if (!agent) return err('ended')
          if (agent.keys.length > 0) return err('has-keys')
          if ((await acceptedSecrets(tx, id, secret.createdAt)).length >= MAX_SECRETS) return err('too-many')
          await tx.query('update agent_secrets set ends_at = $2 where agent_id = $1 and ends_at is null', [
            id,
            oldEndsAt,
          ])
          await tx.query(
            'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
            [secret.id, id, secret.digest, secret.keyId, secret.createdAt, secret.endsAt ?? null],
          )
          return ok(await acceptedSecrets(tx, id, secret.createdAt))
        },
      )
      if (added.ok) events.emit('secret-added', { client_id: id, secret_id: secret.id })
      return added
    },

    /**
     * Ends a secret, unless it is the last; the other one has no end any more. Raises the generation, since nobody knows
     * which tokens were got with which secret. `announce` runs before the change becomes visible; if it throws, nothing
     * changed.
     */
    async endSecret(
      id: AgentId,
      secretId: string,
      at: Date,
      announce: (generation: number) => Promise<void>,
    ): Promise<EndedSecret> {
      const ended = await changeCredentials<EndedSecret>(id, async (tx, agent) => {
        if (!agent) return { outcome: 'ended' }
        const secrets = await acceptedSecrets(tx, id, at)
        if (!secrets.some((secret) => secret.id === secretId))
          return { outcome: 'unknown', generation: agent.generation }
        if (secrets.length === 1) return { outcome: 'last' }
        await tx.query('delete from agent_secrets where id = $1', [secretId])
        await tx.query('update agent_secrets set ends_at = null where agent_id = $1 and ends_at > $2', [
          id,
          at,
        ])
        await tx.query('update agents set generation = generation + 1 where id = $1', [id])
        const generation = agent.generation + 1
        await announce(generation)
        return { outcome: 'gone', generation }
      })
      if (ended.outcome === 'gone') events.emit('secret-ended', { client_id: id, secret_id: secretId })
      return ended
    },

    /** Seals names under the newest key-encryption key, as `rewriteColumn` says. @returns how many moved @throws {SealError} */
    rewrapNames: (options: { trial: boolean }): Promise<number> =>
      rewriteColumn(
        db,
        {
          table: 'agents',
          column: 'name_sealed',
          key: 'id',
          rewrite: (sealed, id) => sealingKeys.reseal(sealed, nameContext(id)),
        },
        options,
      ),
  }
}

const LockedAgent = Agent.pick({ keys: true, generation: true })
type LockedAgent = z.infer<typeof LockedAgent>

const INSERT = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, jwks)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb) returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at)
  select secret.id, agent.id, secret.hash, secret.key_id, secret.created_at, secret.ends_at
  from agent, unnest($9::uuid[], $10::bytea[], $11::text[], $12::timestamptz[], $13::timestamptz[])
    as secret (id, hash, key_id, created_at, ends_at)`
