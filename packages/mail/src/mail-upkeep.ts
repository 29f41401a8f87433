import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { addMailJob, MAX_ATTEMPTS } from './mail-job.ts'
import { LEASE_MS } from './stored-mail.ts'
import { DAY_MS } from './times.ts'

const BATCH = 500
/** Counted from the last attempt, which comes within a day. */
export const DEAD_CONTENT_MS = RULES.undeliveredMailMs - DAY_MS

/**
 * Makes jobs anew for mails that nobody works on, since the worker that held them was killed.
 *
 * @returns the ids of mails that had all their attempts
 */
export async function rescueMails(tx: Database, now: Date): Promise<string[]> {
  const { rows } = await tx.query<{ id: string; attempts: number }>(
    `select id, attempts from mails where state = 'queued' and overdue_at <= $1
     order by overdue_at limit ${BATCH} for update skip locked`,
    [now],
  )
  const spent = rows.filter(({ attempts }) => attempts >= MAX_ATTEMPTS)
  for (const { id } of rows.filter(({ attempts }) => attempts < MAX_ATTEMPTS)) {
    await addMailJob(tx, id)
    await tx.query('update mails set overdue_at = $2 where id = $1', [id, new Date(now.getTime() + LEASE_MS)])
  }
  return spent.map(({ id }) => id)
}

/** Erases what was kept long enough: contents of dead mails, hashes of the caps, and settled rows. */
export async function forgetMails(db: Database, now: Date): Promise<void> {
  const ago = (ms: number) => new Date(now.getTime() - ms)
  await db.query(
    `update mails set mail_sealed = null where id in
       (select id from mails where state = 'dead' and mail_sealed is not null and settled_at <= $1 limit ${BATCH})`,
    [ago(DEAD_CONTENT_MS)],
  )
  await db.query(
    `update mails set mailbox_hash = null, domain_hash = null, hash_key = null, counted_at = null where id in
       (select id from mails where counted_at <= $1 limit ${BATCH})`,
    [ago(RULES.mailCountedMs)],
  )
  await db.query(
    `delete from mails where id in (select id from mails where settled_at <= $1 limit ${BATCH})`,
    [ago(RULES.mailKeptMs)],
  )
}
