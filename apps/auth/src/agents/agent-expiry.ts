import { AgentId, AgentKey, RULES } from '@plainpath/domain'
import { createRowReader, type Database, deleteBatch, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import type { AuthEvents } from '../events.ts'
import { deleteVerificationsOfAgents } from '../verifications/revoke-verifications.ts'
import type { RevocationDeps } from './change-and-revoke.ts'

/** Why an agent expired. `flood`: too many agents had never received a token, and this was one of the oldest. */
const ExpiryCause = z.enum(['never-used', 'idle', 'flood'])
type ExpiryCause = z.infer<typeof ExpiryCause>

/** The tombstone of an expired agent: what is needed to recognise its secret or key, and to say why and when it expired. */
export interface ExpiredAgent {
  readonly id: AgentId
  readonly cause: ExpiryCause
  readonly secrets: readonly { readonly digest: Buffer; readonly keyId: string }[]
  readonly keys: readonly AgentKey[]
  readonly expiredAt: Date
}

const BATCH_SIZE = 200

interface ExpireAgentsDeps extends RevocationDeps {
  readonly db: Pool
  readonly events: AuthEvents
}

interface ExpiringAgent {
  readonly id: AgentId
  /** Higher than the credential version of all its tokens. */
  readonly credentialVersion: number
}

/**
 * Expires a batch of at most 200 agents with their verifications. An agent that receives a token during this call does not
 * expire. Concurrent processes do not remove more agents than one process would.
 *
 * The steps are those that `changeAndRevoke` explains: revoke in the token store before the commit, invalidate the cache after
 * it, revoke again, and publish to the APIs. None of these agents has an unexpired token, so a failed publication need not be
 * repeated.
 *
 * @param maxNeverUsed how many agents that never received a token may exist. If there are more, the oldest of them expire,
 *   except those that registered within the last hour
 * @returns the number of expired agents; 0 when none is left
 */
export async function expireAgents(deps: ExpireAgentsDeps, now: Date, maxNeverUsed: number): Promise<number> {
  const { db, tokens, agentCache, revocationPublisher, events } = deps
  const revokeTokens = async (agents: readonly ExpiringAgent[]) => {
    await Promise.all(
      agents.map(({ id, credentialVersion }) =>
        tokens.revokeTokensOf({ kind: 'client', id, credentialVersion }),
      ),
    )
  }
  const expiredAgents = await db.transaction(async (tx) => {
    // A commit that revokes something is synchronous, whatever the server's default (`AgentStore`).
    await tx.query('set local synchronous_commit = on')
    const removedAgents: ExpiringAgent[] = []
    for (const { cause, where, values } of buildExpiryRules(now, maxNeverUsed)) {
      const expiringAgents = await lockExpiring(tx, where, values, BATCH_SIZE - removedAgents.length)
      if (expiringAgents.length > 0) await replaceWithTombstones(tx, expiringAgents, cause, now)
      removedAgents.push(...expiringAgents)
    }
    await revokeTokens(removedAgents)
    return removedAgents
  })
  if (expiredAgents.length > 0) events.emit('clients-expired', { count: expiredAgents.length })
  for (const { id } of expiredAgents) agentCache.invalidate(id)
  await revokeTokens(expiredAgents)
  await Promise.all(expiredAgents.map(({ id }) => revocationPublisher.publish({ kind: 'client', id })))
  return expiredAgents.length
}

/** Finds the tombstone of an expired agent. Tombstones are valid for `RULES.tombstoneMs`. */
export async function findExpiredAgent(
  db: Database,
  id: AgentId,
  now: Date,
): Promise<ExpiredAgent | undefined> {
  const { rows } = await db.query(
    `select ${ExpiredRow.columns} from expired_agents
     where id = $1 and expired_at > $2`,
    [id, new Date(now.getTime() - RULES.tombstoneMs)],
  )
  if (!rows[0]) return undefined
  const { secretHashes, hashKeyIds, jwks: keys, ...expired } = ExpiredRow.parse(rows[0])
  return {
    ...expired,
    // A constraint of the table makes both arrays equally long.
    secrets: secretHashes.map((digest, index) => ({ digest, keyId: hashKeyIds[index] ?? '' })),
    keys,
  }
}

/**
 * Deletes a batch of the tombstones that are too old or exceed `maxCount`, the oldest first.
 *
 * @returns the number of deleted tombstones
 */
export const deleteTombstones = (db: Database, now: Date, maxCount: number): Promise<number> =>
  deleteBatch(
    db,
    {
      table: 'expired_agents',
      keyColumn: 'id',
      where: `expired_at <= $1 or (expired_at, id) <= (${buildNewestOverLimit('expired_agents', 'expired_at', '$2')})`,
      orderBy: 'expired_at, id',
    },
    [new Date(now.getTime() - RULES.tombstoneMs), maxCount],
  )

const ExpiredRow = createRowReader(
  z.object({
    id: AgentId,
    cause: ExpiryCause,
    secretHashes: z.array(z.instanceof(Buffer)),
    hashKeyIds: z.array(z.string()),
    jwks: z.array(AgentKey).default([]),
    expiredAt: z.date(),
  }),
)

async function replaceWithTombstones(
  tx: Database,
  expiringAgents: readonly ExpiringAgent[],
  cause: ExpiryCause,
  now: Date,
): Promise<void> {
  const ids = expiringAgents.map(({ id }) => id)
  await tx.query(INSERT_TOMBSTONES, [ids, cause, now])
  await deleteVerificationsOfAgents(tx, ids)
  await tx.query('delete from agent_secrets where agent_id = any($1)', [ids])
  await tx.query('delete from agents where id = any($1)', [ids])
}

/**
 * Builds SQL that selects the newest row beyond the limit; every older row is beyond it too. Concurrent processes that
 * compare with this row match the same rows. If each deleted a computed number of rows instead, they would delete too many.
 *
 * @param source the table, optionally with a `where` clause
 */
const buildNewestOverLimit = (source: string, timeColumn: string, limit: string) =>
  `select ${timeColumn}, id from ${source} order by ${timeColumn} desc, id desc offset ${limit} limit 1`

const NEVER_USED = `status = 'active' and last_used_at is null and app_client_id is null`
/**
 * SQL for connections without a verification: the sign-in was not finished, or the verification was deleted. A sign-in
 * lasts less than an hour.
 */
const UNVERIFIED_CONNECTION = `app_client_id is not null and not exists (select from claims where agent_id = agents.id)`

/**
 * Builds the rules in the order in which they fill a batch. `where` is SQL and includes the order, oldest first. `values` are
 * the values of its parameters.
 */
function buildExpiryRules(
  now: Date,
  maxNeverUsed: number,
): { cause: ExpiryCause; where: string; values: readonly unknown[] }[] {
  const timeAgo = (ms: number) => new Date(now.getTime() - ms)
  return [
    {
      cause: 'never-used',
      where: `${UNVERIFIED_CONNECTION} and registered_at <= $1 order by registered_at, id`,
      values: [timeAgo(RULES.unfinishedSignInMs)],
    },
    {
      cause: 'never-used',
      where: `${NEVER_USED} and registered_at <= $1 order by registered_at, id`,
      values: [timeAgo(RULES.neverUsedMs)],
    },
    {
      cause: 'idle',
      where: `status = 'active' and last_used_at <= $1 order by last_used_at, id`,
      values: [timeAgo(RULES.idleMs + RULES.useRecordedMs)],
    },
    {
      cause: 'flood',
      where: `${NEVER_USED} and registered_at <= $1
        and (registered_at, id) <= (${buildNewestOverLimit(`agents where ${NEVER_USED}`, 'registered_at', '$2')})
        order by registered_at, id`,
      values: [timeAgo(RULES.floodMs), maxNeverUsed],
    },
  ]
}

/**
 * Locks and returns at most `limit` agents that match `where`, except those that another transaction has locked.
 * PostgreSQL rechecks `where` after locking, which spares agents that just received a token.
 */
async function lockExpiring(
  tx: Database,
  where: string,
  values: readonly unknown[],
  limit: number,
): Promise<ExpiringAgent[]> {
  const { rows } = await tx.query<{ id: string; credentialVersion: number }>(
    `select id, generation + 1 as "credentialVersion" from agents where ${where} limit ${limit} for update skip locked`,
    [...values],
  )
  return rows.map(({ id, credentialVersion }) => ({ id: AgentId.parse(id), credentialVersion }))
}

/**
 * SQL that inserts tombstones, without expired secrets. URL clients and connections get none, because they can start over.
 */
const INSERT_TOMBSTONES = `
  insert into expired_agents (id, cause, secret_hashes, hash_key_ids, jwks, expired_at)
  select agents.id, $2, array_remove(array_agg(secret_hash order by secret.id), null),
         array_remove(array_agg(hash_key_id order by secret.id), null), jwks, $3
  from agents left join agent_secrets secret on agent_id = agents.id and (ends_at is null or ends_at > $3)
  where agents.id = any($1) and agents.id not like 'https://%' and app_client_id is null group by agents.id`
