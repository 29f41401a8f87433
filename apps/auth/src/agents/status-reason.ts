import type { AgentId } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'

/** Reads why an operator disabled or deleted an agent; undefined if no reason is stored. */
export async function readStatusReason(db: Database, id: AgentId): Promise<string | undefined> {
  const { rows } = await db.query<{ reason: string | null }>(
    'select status_reason as reason from agents where id = $1',
    [id],
  )
  return rows[0]?.reason ?? undefined
}
