import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { ERASED, OPEN } from './attempt-row.ts'

const BATCH = 1_000

const batch = (table: string, key: string, where: string) =>
  `${key} in (select ${key} from ${table} where ${where} limit ${BATCH} for update skip locked)`

/** Each takes the time before which it reaches back. */
const STATEMENTS: readonly { readonly sql: string; readonly ageMs: number }[] = [
  {
    sql: `update claim_attempts set state = 'expired', ${ERASED}
          where ${batch('claim_attempts', 'id', `link_expires_at <= $1 and state in ${OPEN}`)}`,
    ageMs: 0,
  },
  {
    sql: `delete from claim_attempts where ${batch('claim_attempts', 'id', 'created_at <= $1')}`,
    ageMs: RULES.claimAttemptKeptMs,
  },
  {
    sql: `delete from claim_tries where ${batch('claim_tries', 'id', 'tried_at <= $1')}`,
    ageMs: RULES.mailboxTriesMs,
  },
  {
    sql: `delete from claim_blocks where ${batch('claim_blocks', 'mailbox_hash', 'until <= $1')}`,
    ageMs: 0,
  },
  {
    sql: `update claims set ended_at = expires_at, ended_by = 'expired',
            email_sealed = null, email_hash = null, email_hash_key = null
          where ${batch('claims', 'id', 'ended_at is null and expires_at <= $1')}`,
    ageMs: 0,
  },
  {
    sql: `delete from claims where ${batch('claims', 'id', 'ended_at <= $1')}`,
    ageMs: RULES.endedClaimKeptMs,
  },
]

/** Erases what has been kept for long enough, at most 1 000 rows of each kind. @returns how many rows changed */
export async function sweepClaims(db: Database, now: Date): Promise<number> {
  let changed = 0
  for (const { sql, ageMs } of STATEMENTS)
    changed += (await db.query(sql, [new Date(now.getTime() - ageMs)])).rowCount
  return changed
}
