import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { AttemptRow } from './attempt-row.ts'

const Blocked = z.object({ blocked: z.boolean() })
const Tries = z.object({ tries: z.int() })

/** Whether the owner of the mailbox said no, and has not confirmed this very agent for this address. */
export async function isBlocked(db: Database, row: AttemptRow, now: Date): Promise<boolean> {
  if (!row.mailbox_hash) return false
  const { rows } = await db.query(
    `select exists (select from claim_blocks where mailbox_hash = $1 and until > $2)
        and not exists (select from claims where agent_id = $3 and email_hash = $4
                        and ended_at is null and expires_at > $2) as blocked`,
    [row.mailbox_hash, now, row.agent_id, row.email_hash],
  )
  return Blocked.parse(rows[0]).blocked
}

/**
 * How many wrong codes, and codes that are being compared, were entered for the mailbox within 24 hours. Until `tx`
 * ends nobody else counts one.
 */
export async function triesOf(tx: Database, row: AttemptRow, now: Date): Promise<number> {
  if (!row.mailbox_hash) return 0
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('claim tries ' || encode($1, 'hex'), 0))`, [
    row.mailbox_hash,
  ])
  const { rows } = await tx.query(
    'select count(*) as tries from claim_tries where mailbox_hash = $1 and tried_at > $2',
    [row.mailbox_hash, new Date(now.getTime() - RULES.mailboxTriesMs)],
  )
  return Tries.parse(rows[0]).tries
}
