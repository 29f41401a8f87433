import { AgentId, AgentKey, RULES } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { removeClaimsOfAgents } from '../claims/postgres-claims.ts'
import type { AuthEvents } from '../events.ts'
import type { EndAgentDeps } from './end-agent.ts'

/** Why an agent expired. `flood`: too many agents had never got a token, and it was among the oldest of them. */
const ExpiryCause = z.enum(['never-used', 'idle', 'flood'])
type ExpiryCause = z.infer<typeof ExpiryCause>

/** The tombstone of an expired agent: enough to recognise its secret or key, and nothing else. */
export interface ExpiredAgent {
  readonly id: AgentId
  readonly cause: ExpiryCause
  readonly secrets: readonly { readonly digest: Buffer; readonly keyId: string }[]
  readonly keys: readonly AgentKey[]
  readonly expiredAt: Date
}

const BATCH = 200

interface ExpireAgentsDeps extends EndAgentDeps {
  readonly db: Pool
  readonly events: AuthEvents
}

interface ExpiringAgent {
  readonly id: AgentId
  /** Higher than that of any token it may have had. */
  readonly generation: number
}

/**
 * Expires a batch of agents with their claims, in the order in which `endAgent` deletes one: revoke in the token store
 * before and after the commit, drop from the cache, publish to the APIs. None of these agents has an unexpired token,
 * so a failure to publish needs no repetition. An agent that gets a token meanwhile is not expired, and two processes
 * at once never remove more than one would.
 *
 * @param neverUsed how many agents that never got a token may exist, not counting those younger than an hour
 * @returns how many expired; 0 when none is left
 */
export async function expireAgents(deps: ExpireAgentsDeps, now: Date, neverUsed: number): Promise<number> {
  const { db, tokens, cachedAgents, revoker, events } = deps
  const revokeTokens = async (expired: readonly ExpiringAgent[]) => {
    await Promise.all(
      expired.map(({ id, generation }) => tokens.revokeTokensOf({ kind: 'client', id, generation })),
    )
  }
  const expired = await db.transaction(async (tx) => {
    await tx.query('set local synchronous_commit = on')
    const removed: ExpiringAgent[] = []
    for (const { cause, where, values } of expiryRules(now, neverUsed)) {
      const expiring = await lockExpiring(tx, where, values, BATCH - removed.length)
      if (expiring.length > 0) await remove(tx, expiring, cause, now)
      removed.push(...expiring)
    }
    await revokeTokens(removed)
    return removed
  })
  if (expired.length > 0) events.emit('clients-expired', { count: expired.length })
  for (const { id } of expired) cachedAgents.forget(id)
  await revokeTokens(expired)
  await Promise.all(expired.map(({ id }) => revoker.publishRevocation({ kind: 'client', id })))
  return expired.length
}

/** Finds the tombstone of an expired agent; tombstones are valid for `RULES.tombstoneMs`. */
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
    secrets: secretHashes.map((digest, index) => ({ digest, keyId: hashKeyIds[index] ?? '' })),
    keys,
  }
}

/**
 * Deletes a batch of tombstones that are too old, or the oldest of too many.
 *
 * @param most how many are retained
 * @returns how many were deleted
 */
export const forgetExpiredAgents = (db: Database, now: Date, most: number): Promise<number> =>
  deleteBatch(
    db,
    {
      table: 'expired_agents',
      key: 'id',
      where: `expired_at <= $1 or (expired_at, id) <= (${newestBeyond('expired_agents', 'expired_at', '$2')})
        order by expired_at, id`,
    },
    [new Date(now.getTime() - RULES.tombstoneMs), most],
  )

const ExpiredRow = rowReader(
  z.object({
    id: AgentId,
    cause: ExpiryCause,
    secretHashes: z.array(z.instanceof(Buffer)),
    hashKeyIds: z.array(z.string()),
    jwks: z.array(AgentKey).default([]),
    expiredAt: z.date(),
  }),
)

async function remove(
  tx: Database,
  expiring: readonly ExpiringAgent[],
  cause: ExpiryCause,
  now: Date,
): Promise<void> {
  const ids = expiring.map(({ id }) => id)
  await tx.query(TOMBSTONES, [ids, cause, now])
  await removeClaimsOfAgents(tx, ids)
  await tx.query('delete from agent_secrets where agent_id = any($1)', [ids])
  await tx.query('delete from agents where id = any($1)', [ids])
}

/**
 * Selects the newest row over the bound; every older row is over it too. Unlike a count to delete, this gives two
 * concurrent processes the same rows, so that they do not delete twice as many.
 */
const newestBeyond = (table: string, time: string, bound: string) =>
  `select ${time}, id from ${table} order by ${time} desc, id desc offset ${bound} limit 1`

const NEVER_USED = `status = 'active' and last_used_at is null and app_client_id is null`
/** Connections whose sign-in was not finished, or of whose claim there is no record any more. A sign-in lasts less than an hour. */
const WITHOUT_CLAIM = `app_client_id is not null and not exists (select from claims where agent_id = agents.id)`

function expiryRules(
  now: Date,
  neverUsed: number,
): { cause: ExpiryCause; where: string; values: readonly unknown[] }[] {
  const before = (ms: number) => new Date(now.getTime() - ms)
  return [
    {
      cause: 'never-used',
      where: `${WITHOUT_CLAIM} and registered_at <= $1 order by registered_at, id`,
      values: [before(RULES.unfinishedSignInMs)],
    },
    {
      cause: 'never-used',
      where: `${NEVER_USED} and registered_at <= $1 order by registered_at, id`,
      values: [before(RULES.neverUsedMs)],
    },
    {
      cause: 'idle',
      where: `status = 'active' and last_used_at <= $1 order by last_used_at, id`,
      values: [before(RULES.idleMs + RULES.useRecordedMs)],
    },
    {
      cause: 'flood',
      where: `${NEVER_USED} and registered_at <= $1
        and (registered_at, id) <= (${newestBeyond(`agents where ${NEVER_USED}`, 'registered_at', '$2')})
        order by registered_at, id`,
      values: [before(RULES.floodMs), neverUsed],
    },
  ]
}

/** Locks the rows that expire. PostgreSQL checks the condition again after locking, so an agent that just got a token stays. */
async function lockExpiring(
  tx: Database,
  where: string,
  values: readonly unknown[],
  limit: number,
): Promise<ExpiringAgent[]> {
  const { rows } = await tx.query<{ id: string; generation: number }>(
    `select id, generation + 1 as generation from agents where ${where} limit ${limit} for update skip locked`,
    [...values],
  )
  return rows.map(({ id, generation }) => ({ id: AgentId.parse(id), generation }))
}

/** Writes tombstones. Secrets that had already expired are left out. A URL client and a connection need none: they can begin anew. */
const TOMBSTONES = `
  insert into expired_agents (id, cause, secret_hashes, hash_key_ids, jwks, expired_at)
  select agents.id, $2, array_remove(array_agg(secret_hash order by secret.id), null),
         array_remove(array_agg(hash_key_id order by secret.id), null), jwks, $3
  from agents left join agent_secrets secret on agent_id = agents.id and (ends_at is null or ends_at > $3)
  where agents.id = any($1) and agents.id not like 'https://%' and app_client_id is null group by agents.id`
