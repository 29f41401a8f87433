/*
 * Agents with their secrets and keys, in PostgreSQL. Each method is atomic, and decides races by row locks. Revoking
 * tokens and publishing to the APIs is up to the use cases (`end-agent.ts`, `rotate-secret.ts`, `replace-keys.ts`).
 */
import { Agent, type AgentId, type AgentKey, err, ok, type Result } from '@plainpath/domain'
import { type Database, type Pool, rewriteColumn, rowReader } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { nameEncryptionContext, openAgentName } from '../claims/agent-name.ts'
import type { DescribedAgent } from '../claims/confirmed-person.ts'
import { endClaimsOfAgent } from '../claims/end-claims.ts'
import type { AddMail } from '../claims/postgres-claim-attempts.ts'
import type { VerifiedKeyProof } from '../clients/key-proof.ts'
import { useKeyProofs } from '../clients/used-jti-store.ts'
import type { AuthEvents } from '../events.ts'
import { type AgentSecret, acceptedSecrets, findSecrets } from './agent-secret.ts'
import { domainAndParents } from './blocked-domain.ts'
import { compareKeys } from './compare-keys.ts'

export interface AgentRecord {
  readonly agent: Agent
  /** Empty for a deleted agent, and for one that has keys. */
  readonly secrets: readonly AgentSecret[]
}

/** The generation that the agent's tokens must have. @returns undefined for an agent that is unknown or not active */
export const activeGeneration = (record: AgentRecord | undefined): number | undefined =>
  record?.agent.status === 'active' ? record.agent.generation : undefined

const MAX_SECRETS = 2

/** `ended`: the agent is not active any more. */
export type AddSecretRefusal = 'ended' | 'has-keys' | 'too-many'

/** The outcome of removing a secret; `unknown`: it was removed before, or never existed; `ended`: the agent is not active. */
export type EndedSecret =
  | { readonly outcome: 'gone' | 'unknown'; readonly generation: number }
  | { readonly outcome: 'last' | 'ended' }

/** `unproven`: the request has proofs, but not for each new key. */
export type KeysFault = 'ended' | 'unproven' | 'proof-used'

export interface ReplacedKeys {
  readonly agent: Agent
  /** The `kid` of each new key without a proof. */
  readonly unproven: readonly string[]
}

const AgentRow = rowReader(
  Agent.omit({ name: true, keys: true }).extend({
    nameSealed: z.instanceof(Buffer).optional(),
    jwks: Agent.shape.keys,
  }),
)

export type AgentRepository = ReturnType<typeof agentRepository>

/**
 * Opens the repository. A trigger notifies every instance of each change (channel `agents_changed`). A method that
 * revokes something commits synchronously, whatever the server's default.
 */
export function agentRepository(
  db: Pool,
  deps: { sealingKeys: SealingKeys; addMail: AddMail; events: AuthEvents; now: () => Date },
) {
  const { sealingKeys, events, now } = deps
  function toAgent(row: Record<string, unknown>): Agent {
    const { nameSealed, jwks: keys, ...agent } = AgentRow.parse(row)
    if (!nameSealed) return { ...agent, keys }
    return { ...agent, keys, name: openAgentName(sealingKeys, agent.id, nameSealed) }
  }

  /** Runs a change of secrets or keys under the lock of the agent's row. */
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
    /** Stores an agent with its first secret or its keys, in one statement. */
    async add({ agent, secrets }: AgentRecord): Promise<void> {
      const name =
        agent.name === undefined ? null : sealingKeys.seal(agent.name, nameEncryptionContext(agent.id))
      const values = [
        agent.id,
        name,
        agent.scopes,
        agent.status,
        agent.generation,
        agent.registeredAt,
        agent.lastUsedAt ?? null,
        agent.keys.length > 0 ? JSON.stringify(agent.keys) : null,
        agent.dpopBound,
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
      return { agent: toAgent(rows[0]), secrets: await findSecrets(db, id) }
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
     * Disables or deletes an agent: raises its generation and, for a deletion, erases name, secrets and keys and ends
     * its claims, of which the person gets a mail. `announce` runs before the commit; if it throws, nothing changes.
     *
     * @returns the new generation, or undefined when there is no such agent or it is already deleted
     */
    async end(
      id: AgentId,
      status: 'disabled' | 'deleted',
      announce: (generation: number) => Promise<void>,
    ): Promise<number | undefined> {
      const ended = await db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const { rows } = await tx.query<DescribedAgent & { generation: number }>(
          `with before as (select id, name_sealed from agents where id = $1 and status <> 'deleted' for no key update)
           update agents set status = $2, generation = generation + 1,
                  name_sealed = case when $2 = 'deleted' then null else agents.name_sealed end,
                  jwks = case when $2 = 'deleted' then null else jwks end,
                  document_fetched_at = case when $2 = 'deleted' then null else document_fetched_at end,
                  document_expires_at = case when $2 = 'deleted' then null else document_expires_at end
           from before where agents.id = before.id
           returning agents.id, generation, registered_at as "registeredAt", before.name_sealed as "nameSealed", app_host as "appHost"`,
          [id, status],
        )
        const row = rows[0]
        if (row === undefined) return undefined
        if (status === 'deleted') {
          await tx.query('delete from agent_secrets where agent_id = $1', [id])
          await endClaimsOfAgent(tx, deps, row, now())
        }
        await announce(row.generation)
        return row.generation
      })
      if (ended !== undefined) events.emit('client-ended', { client_id: id, how: status })
      return ended
    },

    /**
     * Enables a disabled agent. Counts as a use, so that it does not expire at once.
     *
     * @returns false unless it was disabled, and its domain is not blocked
     */
    async enable(id: AgentId, at: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update agents set status = 'active', last_used_at = $2 where id = $1 and status = 'disabled'
           and not exists (select from blocked_domains where domain = any($3))`,
        [id, at, domainAndParents(id)],
      )
      if (rowCount === 1) events.emit('client-enabled', { client_id: id })
      return rowCount === 1
    },

    /** Records that the agent is used, durably. @returns false unless the agent is active */
    async markUsed(id: AgentId, at: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update agents set last_used_at = greatest(last_used_at, $2) where id = $1 and status = 'active'
           and set_config('synchronous_commit', 'on', true) = 'on'`,
        [id, at],
      )
      return rowCount === 1
    },

    /**
     * Replaces the keys of an active agent, removes its secrets and marks the proofs as used. Raises the generation when
     * a key or the secret is removed, since tokens do not record the credential they were issued for. `announce` runs
     * before the commit; if it throws, nothing changes.
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

    /** Adds a secret without an expiry; the older one expires at `oldEndsAt`. @returns all secrets accepted now */
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
     * Removes a secret, unless it is the last; the other one no longer expires. Raises the generation, since tokens do
     * not record the secret they were issued for. `announce` runs before the commit; if it throws, nothing changes.
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

    /** Re-encrypts names under the newest key-encryption key. @returns how many were under an older one @throws {SealError} */
    rewrapNames: (options: { trial: boolean }): Promise<number> =>
      rewriteColumn(
        db,
        {
          table: 'agents',
          column: 'name_sealed',
          key: 'id',
          rewrite: (sealed, id) => sealingKeys.reseal(sealed, nameEncryptionContext(id)),
        },
        options,
      ),
  }
}

const LockedAgent = Agent.pick({ keys: true, generation: true })
type LockedAgent = z.infer<typeof LockedAgent>

const INSERT = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, jwks, dpop_bound)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9) returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at)
  select secret.id, agent.id, secret.hash, secret.key_id, secret.created_at, secret.ends_at
  from agent, unnest($10::uuid[], $11::bytea[], $12::text[], $13::timestamptz[], $14::timestamptz[])
    as secret (id, hash, key_id, created_at, ends_at)`
