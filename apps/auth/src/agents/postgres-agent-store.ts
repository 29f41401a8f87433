import { Agent, err, ok, type Result } from '@plainpath/domain'
import { createRowReader, type Database, type Pool, rewriteColumn } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import {
  buildVersionCondition,
  type ChangedAgent,
  type LockedAgent,
  lockActiveAgent,
} from '../clients/credential-version.ts'
import { computeKeyThumbprints } from '../clients/key-thumbprint.ts'
import { markKeyProofsUsed } from '../clients/used-jti-store.ts'
import type { AuthEvents } from '../events.ts'
import { decryptAgentName, toNameEncryptionContext } from '../verifications/agent-name.ts'
import type { DescribedAgent } from '../verifications/confirmed-person.ts'
import { revokeVerificationsOfAgent } from '../verifications/revoke-verifications.ts'
import type { AddMail } from '../verifications/verification-attempt-store.ts'
import type { AgentSecret } from './agent-secret.ts'
import { findAcceptedSecrets, findSecrets } from './agent-secret.ts'
import type {
  AddSecretRefusal,
  AgentStore,
  ReplacedKeys,
  ReplaceKeysFault,
  SecretRemoval,
} from './agent-store.ts'
import { listDomainAndParents } from './blocked-domain.ts'
import { compareKeys } from './compare-keys.ts'

/** The secret in use and its successor. */
const MAX_SECRETS = 2

const AgentRow = createRowReader(
  Agent.omit({ name: true, keys: true, credentialVersion: true }).extend({
    nameSealed: z.instanceof(Buffer).optional(),
    jwks: Agent.shape.keys,
    generation: Agent.shape.credentialVersion,
  }),
)

/** Creates an agent store that is backed by PostgreSQL. Triggers on its tables notify every instance of changes. */
export function createAgentStore(
  db: Pool,
  deps: { sealer: Sealer; addMail: AddMail; events: AuthEvents; now: () => Date },
): AgentStore {
  const { sealer, events } = deps
  function toAgent(row: Record<string, unknown>): Agent {
    const { nameSealed, jwks: keys, generation: credentialVersion, ...columns } = AgentRow.parse(row)
    const agent = { ...columns, keys, credentialVersion }
    return nameSealed ? { ...agent, name: decryptAgentName(sealer, agent.id, nameSealed) } : agent
  }

  /**
   * Runs `change` in a transaction that has locked the agent's row. `agent` is undefined unless the agent is active, and none of
   * its credentials was removed after it was authenticated.
   */
  const changeCredentials = <T>(
    changedAgent: ChangedAgent,
    change: (tx: Database, agent: LockedAgent | undefined) => Promise<T>,
  ) =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      return await change(tx, await lockActiveAgent(tx, changedAgent))
    })

  return {
    async add({ agent, secrets }) {
      const name =
        agent.name === undefined ? null : sealer.seal(agent.name, toNameEncryptionContext(agent.id))
      const values = [
        agent.id,
        name,
        agent.scopes,
        agent.status,
        agent.credentialVersion,
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
      await db.query(INSERT_AGENT, values, 'add-agent')
    },

    async find(id) {
      const { rows } = await db.query(`select ${AgentRow.columns} from agents where id = $1`, [id])
      if (!rows[0]) return undefined
      return { agent: toAgent(rows[0]), secrets: await findSecrets(db, id) }
    },

    async list(limit) {
      const { rows } = await db.query(
        `select ${AgentRow.columns} from agents order by registered_at desc, id limit $1`,
        [limit],
      )
      return rows.map(toAgent)
    },

    async deactivate(agent, status, beforeCommit, reason) {
      const { id } = agent
      const credentialVersion = await db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        // `before` reads the encrypted name, which the mails about a deletion need. `returning` alone would return the new value:
        // null.
        const { rows } = await tx.query<DescribedAgent & { credentialVersion: number }>(
          `with before as (select id, name_sealed from agents where id = $1 and status <> 'deleted'
             and ${buildVersionCondition('$4')} for no key update)
           update agents set status = $2, generation = generation + 1, status_reason = coalesce($3, case when $2 = 'disabled' then status_reason end),
                  name_sealed = case when $2 = 'deleted' then null else agents.name_sealed end,
                  jwks = case when $2 = 'deleted' then null else jwks end,
                  document_fetched_at = case when $2 = 'deleted' then null else document_fetched_at end,
                  document_expires_at = case when $2 = 'deleted' then null else document_expires_at end
           from before where agents.id = before.id
           returning agents.id, generation as "credentialVersion", registered_at as "registeredAt", before.name_sealed as "nameSealed", app_host as "appHost"`,
          [id, status, reason ?? null, agent.credentialVersion ?? null],
        )
        const row = rows[0]
        if (row === undefined) return undefined
        if (status === 'deleted') {
          await tx.query('delete from agent_secrets where agent_id = $1', [id])
          await revokeVerificationsOfAgent(tx, deps, row, deps.now())
        }
        await beforeCommit(row.credentialVersion)
        return row.credentialVersion
      })
      if (credentialVersion !== undefined) events.emit('client-ended', { client_id: id, how: status })
      return credentialVersion
    },

    async enable(id, now) {
      const { rowCount } = await db.query(
        `update agents set status = 'active', status_reason = null, last_used_at = $2 where id = $1 and status = 'disabled'
           and not exists (select from blocked_domains where domain = any($3))`,
        [id, now, listDomainAndParents(id)],
      )
      if (rowCount === 1) events.emit('client-enabled', { client_id: id })
      return rowCount === 1
    },

    async markUsed(id, now) {
      // `set_config` makes the commit of this statement synchronous. `set local` would need a transaction of several statements.
      const { rowCount } = await db.query(
        `update agents set last_used_at = greatest(last_used_at, $2) where id = $1 and status = 'active'
           and set_config('synchronous_commit', 'on', true) = 'on'`,
        [id, now],
      )
      return rowCount === 1
    },

    async replaceKeys(changedAgent, { keys, proofs }, beforeCommit) {
      const { id } = changedAgent
      const result = await changeCredentials<Result<ReplacedKeys, ReplaceKeysFault>>(
        changedAgent,
        async (tx, agent) => {
          if (!agent) return err('inactive')
          const { unproven, isCredentialRemoved } = compareKeys(agent.keys, keys, proofs)
          if (proofs.length > 0 && unproven.length > 0) return err('proof-missing')
          if (!(await markKeyProofsUsed(tx, id, proofs))) return err('proof-used')
          const credentialVersion = agent.credentialVersion + (isCredentialRemoved ? 1 : 0)
          const { rows } = await tx.query(
            `update agents set jwks = $2::jsonb, generation = $3 where id = $1 returning ${AgentRow.columns}`,
            [id, JSON.stringify(keys), credentialVersion],
          )
          await tx.query('delete from agent_secrets where agent_id = $1', [id])
          await beforeCommit(credentialVersion)
          // The row is locked, so the update has returned it.
          return ok({ agent: toAgent(rows[0] ?? {}), unproven })
        },
      )
      if (result.ok) {
        const thumbprints = await computeKeyThumbprints(result.value.agent.keys)
        events.emit('keys-changed', { client_id: id, key_thumbprints: thumbprints })
      }
      return result
    },

    async addSecret(changedAgent, secret, olderSecretEndsAt) {
      const { id } = changedAgent
      const result = await changeCredentials<Result<readonly AgentSecret[], AddSecretRefusal>>(
        changedAgent,
        async (tx, agent) => {
          if (!agent) return err('inactive')
          if (agent.keys.length > 0) return err('has-keys')
          // The secret was created just now, so its creation time is the current time.
          if ((await findAcceptedSecrets(tx, id, secret.createdAt)).length >= MAX_SECRETS)
            return err('too-many')
          await tx.query('update agent_secrets set ends_at = $2 where agent_id = $1 and ends_at is null', [
            id,
            olderSecretEndsAt,
          ])
          await tx.query(
            'insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at) values ($1, $2, $3, $4, $5, $6)',
            [secret.id, id, secret.digest, secret.keyId, secret.createdAt, secret.endsAt ?? null],
          )
          return ok(await findAcceptedSecrets(tx, id, secret.createdAt))
        },
      )
      if (result.ok) events.emit('secret-added', { client_id: id, secret_id: secret.id })
      return result
    },

    async removeSecret(changedAgent, secretId, now, beforeCommit) {
      const { id } = changedAgent
      const removal = await changeCredentials<SecretRemoval>(changedAgent, async (tx, agent) => {
        if (!agent) return { outcome: 'inactive' }
        const secrets = await findAcceptedSecrets(tx, id, now)
        if (!secrets.some((secret) => secret.id === secretId))
          return { outcome: 'unknown', credentialVersion: agent.credentialVersion }
        if (secrets.length === 1) return { outcome: 'last' }
        await tx.query('delete from agent_secrets where id = $1', [secretId])
        await tx.query('update agent_secrets set ends_at = null where agent_id = $1 and ends_at > $2', [
          id,
          now,
        ])
        await tx.query('update agents set generation = generation + 1 where id = $1', [id])
        const credentialVersion = agent.credentialVersion + 1
        await beforeCommit(credentialVersion)
        return { outcome: 'removed', credentialVersion }
      })
      if (removal.outcome === 'removed') events.emit('secret-ended', { client_id: id, secret_id: secretId })
      return removal
    },

    reencryptNames: (options) =>
      rewriteColumn(
        db,
        {
          table: 'agents',
          column: 'name_sealed',
          keyColumn: 'id',
          rewrite: (sealed, id) => sealer.reseal(sealed, toNameEncryptionContext(id)),
        },
        options,
      ),
  }
}

const INSERT_AGENT = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, jwks, dpop_bound)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9) returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at, ends_at)
  select secret.id, agent.id, secret.hash, secret.key_id, secret.created_at, secret.ends_at
  from agent, unnest($10::uuid[], $11::bytea[], $12::text[], $13::timestamptz[], $14::timestamptz[])
    as secret (id, hash, key_id, created_at, ends_at)`
