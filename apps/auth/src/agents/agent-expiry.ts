import { AgentId, AgentKey, RULES } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { removeClaimsOfAgents } from '../claims/postgres-claims.ts'
import type { AuthEvents } from '../events.ts'
import type { EndAgentDeps } from './end-agent.ts'

/** Why an agent expired. `flood`: too many that never got a token, and it was among the oldest. */
const ExpiryCause = z.enum(['never-used', 'idle', 'flood'])
type ExpiryCause = z.infer<typeof ExpiryCause>

/** What is left of an agent that was not used: enough to recognise whoever holds its secret or key, and nobody else. */
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

interface EndedAgent {
  readonly id: AgentId
  /** Above that of every token that it may have had. */
  readonly generation: number
}

/**
 * Ends a batch of agents that are due, with their claims, in the way in which one is deleted (`endAgent`): generations
 * raised beside the tokens before and after the commit, then forgotten, then told to APIs. None of them has a token that
 * lives, so should the telling fail, nothing has to be told again. One that gets a token meanwhile stays; two processes
 * that do it at once never remove more than one would.
 *
 * @param neverUsed so many agents that never got a token may live at once, beside those younger than an hour
 * @returns how many ended; 0 when none is due
 */
export async function expireAgents(deps: ExpireAgentsDeps, now: Date, neverUsed: number): Promise<number> {
  const { db, tokens, cachedAgents, revoker, events } = deps
  const endTokens = async (ended: readonly EndedAgent[]) => {
    await Promise.all(
      ended.map(({ id, generation }) => tokens.endTokensOf({ kind: 'client', id, generation })),
    )
  }
  const ended = await db.transaction(async (tx) => {
    await tx.query('set local synchronous_commit = on')
    const removed: EndedAgent[] = []
    for (const { cause, where, values } of dueAgents(now, neverUsed)) {
      const due = await lockDue(tx, where, values, BATCH - removed.length)
      if (due.length > 0) await remove(tx, due, cause, now)
      removed.push(...due)
    }
    await endTokens(removed)
    return removed
  })
  if (ended.length > 0) events.emit('clients-expired', { count: ended.length })
  for (const { id } of ended) cachedAgents.forget(id)
  await endTokens(ended)
  await Promise.all(ended.map(({ id }) => revoker.announceEnd({ kind: 'client', id })))
  return ended.length
}

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
 * Forgets a batch of expired agents that are left too long, or are too many: the oldest.
 *
 * @param most how many are kept
 * @returns how many went
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
  due: readonly EndedAgent[],
  cause: ExpiryCause,
  now: Date,
): Promise<void> {
  const ids = due.map(({ id }) => id)
  await tx.query(TOMBSTONES, [ids, cause, now])
  await removeClaimsOfAgents(tx, ids)
  await tx.query('delete from agent_secrets where agent_id = any($1)', [ids])
  await tx.query('delete from agents where id = any($1)', [ids])
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
