import type { Database } from '@plainpath/postgres'
import { z } from 'zod'

/** How long an agent must be without a token to count as idle: 30 days, a third of the time after which it expires. */
export const COUNTS_AS_IDLE_MS = 30 * 24 * 3_600_000
/** The counts for metrics stop here, which bounds their cost. */
const MOST_COUNTED = 1_000_000

/** Active agents that never got a token, and those that got none within `COUNTS_AS_IDLE_MS`. */
const Unused = z.object({ neverUsed: z.int(), idle: z.int() })
/** All agents by kind; an agent may be of several kinds. */
const Counts = Unused.extend({
  active: z.int(),
  disabled: z.int(),
  deleted: z.int(),
  /** Whose tombstone is still stored. */
  expired: z.int(),
  withKeys: z.int(),
  /** Known by a domain that they have proven to control. */
  withDomain: z.int(),
  /** Confirmed by a person. */
  confirmed: z.int(),
})
export type AgentCounts = z.infer<typeof Counts>

/** Counts unused agents for the metrics, at most a million of each kind. */
export async function countUnused(db: Database, now: Date): Promise<z.infer<typeof Unused>> {
  const atMost = (where: string) =>
    `(select count(*) from (select from agents where status = 'active' and ${where} limit ${MOST_COUNTED}) counted)`
  const { rows } = await db.query(
    `select ${atMost('last_used_at is null and app_client_id is null')} as "neverUsed", ${atMost('last_used_at <= $1')} as idle`,
    [new Date(now.getTime() - COUNTS_AS_IDLE_MS)],
  )
  return Unused.parse(rows[0])
}

/** Counts all agents, for an operator. It reads every row, so it is no query for metrics. */
export async function countAgents(db: Database, now: Date): Promise<AgentCounts> {
  const { rows } = await db.query(
    `select count(*) filter (where status = 'active') as active,
            count(*) filter (where status = 'disabled') as disabled,
            count(*) filter (where status = 'deleted') as deleted,
            count(*) filter (where status = 'active' and last_used_at is null) as "neverUsed",
            count(*) filter (where status = 'active' and last_used_at <= $1) as idle,
            count(*) filter (where status <> 'deleted' and jwks is not null) as "withKeys",
            count(*) filter (where status <> 'deleted' and id like 'https://%') as "withDomain",
            (select count(*) from claims where ended_at is null and expires_at > $2) as confirmed,
            (select count(*) from expired_agents) as expired
     from agents`,
    [new Date(now.getTime() - COUNTS_AS_IDLE_MS), now],
  )
  return Counts.parse(rows[0])
}
