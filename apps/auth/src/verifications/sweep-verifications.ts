import { RULES } from '@plainpath/domain'
import { type Database, deleteBatch } from '@plainpath/postgres'
import { ERASE_HASHES_SQL, ERASE_PERSONAL_DATA_SQL, OPEN_TO_AGENTS_SQL } from './attempt-row.ts'

const BATCH_SIZE = 1_000

/**
 * Closes expired attempts and verifications, erases the hashes with which a person could decline until the link expired, and
 * deletes old attempts, verifications, tries and blocks. Each statement changes at most 1,000 rows.
 *
 * @returns the number of changed rows
 */
export async function sweepVerifications(db: Database, now: Date): Promise<number> {
  const closeRows = async (table: string, assignments: string, where: string) => {
    const expiredRows = `select id from ${table} where ${where} limit ${BATCH_SIZE} for update skip locked`
    // `= any(array(…))` runs the subquery once, as `deleteBatch` explains.
    return (await db.query(`update ${table} set ${assignments} where id = any(array(${expiredRows}))`, [now]))
      .rowCount
  }
  const deleteRows = (table: string, keyColumn: string, where: string, minAgeMs: number) =>
    deleteBatch(db, { table, keyColumn, where }, [new Date(now.getTime() - minAgeMs)])
  const rowCounts = [
    await closeRows(
      'claim_attempts',
      `state = 'expired', ${ERASE_PERSONAL_DATA_SQL}`,
      `link_expires_at <= $1 and state in ${OPEN_TO_AGENTS_SQL}`,
    ),
    await closeRows(
      'claim_attempts',
      ERASE_HASHES_SQL,
      `link_expires_at <= $1 and mailbox_hash is not null and state not in ${OPEN_TO_AGENTS_SQL}`,
    ),
    await deleteRows('claim_attempts', 'id', 'created_at <= $1', RULES.verificationAttemptKeptMs),
    await deleteRows('claim_tries', 'id', 'tried_at <= $1', RULES.mailboxTriesMs),
    await deleteRows('claim_blocks', 'mailbox_hash', 'until <= $1', 0),
    await closeRows(
      'claims',
      `ended_at = expires_at, ended_by = 'expired', email_sealed = null, email_hash = null, email_hash_key = null`,
      'ended_at is null and expires_at <= $1',
    ),
    await deleteRows('claims', 'id', 'ended_at <= $1', RULES.endedVerificationKeptMs),
  ]
  return rowCounts.reduce((sum, count) => sum + count, 0)
}
