import type { Database } from '@plainpath/postgres'
import { z } from 'zod'

/** An agent is idle if it received its last token at least this long ago. It expires later, after at least `RULES.idleMs`. */
export const IDLE_AFTER_MS = 30 * 24 * 3_600_000
/** Counts for metrics stop at this number, to bound their cost. */
const MAX_COUNTED = 1_000_000

/** The numbers of active agents that never received a token, and of active agents that are idle. */
const UnusedCounts = z.object({ neverUsed: z.int(), idle: z.int() })
/** The numbers of agents of each kind, and of e-mail verifications. An agent can count as several kinds. */
const AgentCounts = UnusedCounts.extend({
  active: z.int(),
  disabled: z.int(),
  deleted: z.int(),
  /** Expired agents whose tombstone is still stored. */
  expired: z.int(),
  /** Active and disabled agents with keys. */
  withKeys: z.int(),
  /** Active and disabled agents with a verified domain: their id is a URL on a domain that they control. */
  withDomain: z.int(),
  /** E-mail verifications that are neither revoked nor expired. */
  liveVerifications: z.int(),
})
export type AgentCounts = z.infer<typeof AgentCounts>

/**
 * Counts unused agents for the metrics, at most a million of each kind. A connection (the agent of an app in which a person
 * signed in) does not count as never used.
 */
export async function countUnusedAgents(db: Database, now: Date): Promise<z.infer<typeof UnusedCounts>> {
  const countAtMost = (where: string) =>
    `(select count(*) from (select from agents where status = 'active' and ${where} limit ${MAX_COUNTED}) counted)`
  const { rows } = await db.query(
    `select ${countAtMost('last_used_at is null and app_client_id is null')} as "neverUsed", ${countAtMost('last_used_at <= $1')} as idle`,
    [new Date(now.getTime() - IDLE_AFTER_MS)],
  )
  return UnusedCounts.parse(rows[0])
}

/**
 * Counts all agents for an operator. Connections count too, except as never used. Metrics must not use this function,
 * because it reads every row.
 */
export async function countAgents(db: Database, now: Date): Promise<AgentCounts> {
  const { rows } = await db.query(
    `select count(*) filter (where status = 'active') as active,
            count(*) filter (where status = 'disabled') as disabled,
            count(*) filter (where status = 'deleted') as deleted,
            count(*) filter (where status = 'active' and last_used_at is null and app_client_id is null) as "neverUsed",
            count(*) filter (where status = 'active' and last_used_at <= $1) as idle,
            count(*) filter (where status <> 'deleted' and jwks is not null) as "withKeys",
            count(*) filter (where status <> 'deleted' and id like 'https://%') as "withDomain",
            (select count(*) from claims where ended_at is null and expires_at > $2) as "liveVerifications",
            (select count(*) from expired_agents) as expired
     from agents`,
    [new Date(now.getTime() - IDLE_AFTER_MS), now],
  )
  return AgentCounts.parse(rows[0])
}
