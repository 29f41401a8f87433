import { RULES } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { ERASED, OPEN_TO_AGENTS } from './attempt-row.ts'

const BATCH = 1_000

/** Closes and deletes expired attempts, claims, tries and blocks, at most 1 000 rows of each. @returns how many rows changed */
export async function sweepClaims(db: Database, now: Date): Promise<number> {
  const close = async (table: string, set: string, where: string) => {
    const over = `select id from ${table} where ${where} limit ${BATCH} for update skip locked`
    return (await db.query(`update ${table} set ${set} where id in (${over})`, [now])).rowCount
  }
  const remove = (table: string, key: string, where: string, ms: number) =>
    deleteBatch(db, { table, key, where }, [new Date(now.getTime() - ms)])
  const changed = [
    await close(
      'claim_attempts',
      `state = 'expired', ${ERASED}`,
      `link_expires_at <= $1 and state in ${OPEN_TO_AGENTS}`,
    ),
    await remove('claim_attempts', 'id', 'created_at <= $1', RULES.claimAttemptKeptMs),
    await remove('claim_tries', 'id', 'tried_at <= $1', RULES.mailboxTriesMs),
    await remove('claim_blocks', 'mailbox_hash', 'until <= $1', 0),
    await close(
      'claims',
      `ended_at = expires_at, ended_by = 'expired', email_sealed = null, email_hash = null, email_hash_key = null`,
      'ended_at is null and expires_at <= $1',
    ),
    await remove('claims', 'id', 'ended_at <= $1', RULES.endedClaimKeptMs),
  ]
  return changed.reduce((sum, rows) => sum + rows, 0)
}
