import type { Database } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { contentPlace, MailContent, type MailOutcome } from './mail.ts'
import { MAX_ATTEMPTS, retrySeconds } from './mail-job.ts'
import { MINUTE_MS, SECOND_MS } from './times.ts'

const Row = z.object({
  id: z.uuid(),
  kind: z.string(),
  about: z.string(),
  mail_sealed: z.instanceof(Buffer),
  message_id: z.string(),
  attempts: z.int(),
  created_at: z.date(),
  counted_at: z.date().nullable(),
})

/** A mail that this worker alone may send until its lease ends. */
export interface LeasedMail {
  readonly id: string
  readonly kind: string
  readonly about: string
  readonly messageId: string
  /** This one counts. */
  readonly attempts: number
  readonly createdAt: Date
  readonly counted: boolean
  readonly content: MailContent
}

/** Longer than any delivery, by more than clocks differ. */
export const LEASE_MS = 75 * SECOND_MS
/** After the lease ended. */
const OVERDUE_MS = 5 * SECOND_MS

/** @returns undefined when it is settled, or leased to another worker */
export async function leaseMail(
  db: Database,
  deps: { sealingKeys: SealingKeys; domain: string },
  id: string,
  now: Date,
): Promise<LeasedMail | undefined> {
  const leasedUntil = new Date(now.getTime() + LEASE_MS)
  const { rows } = await db.query(
    `update mails set attempts = attempts + 1, leased_until = $2, overdue_at = $3,
       message_id = case when position('@' in message_id) = 0 then message_id || '@' || $4 else message_id end
     where id = $1 and state = 'queued' and (leased_until is null or leased_until <= $5)
     returning id, kind, about, mail_sealed, message_id, attempts, created_at, counted_at`,
    [id, leasedUntil, new Date(leasedUntil.getTime() + OVERDUE_MS), deps.domain, now],
  )
  if (rows.length === 0) return undefined
  const row = Row.parse(rows[0])
  const opened = deps.sealingKeys.open(row.mail_sealed, contentPlace(row.id)).toString('utf8')
  return {
    id: row.id,
    kind: row.kind,
    about: row.about,
    messageId: row.message_id,
    attempts: row.attempts,
    createdAt: row.created_at,
    counted: row.counted_at !== null,
    content: MailContent.parse(JSON.parse(opened)),
  }
}

/** Gives the mail back, to be tried again. */
export async function returnMail(db: Database, mail: LeasedMail, now: Date): Promise<void> {
  const overdue = now.getTime() + retrySeconds(mail.attempts) * SECOND_MS + MINUTE_MS
  await db.query(`update mails set leased_until = null, overdue_at = $2 where id = $1 and state = 'queued'`, [
    mail.id,
    new Date(overdue),
  ])
}

/** Settles a mail once. Its content goes at once, or for a dead one with `forgetMails`. */
export async function settleMail(
  tx: Database,
  id: string,
  outcome: MailOutcome,
  now: Date,
): Promise<{ kind: string; about: string } | undefined> {
  const { rows } = await tx.query<{ kind: string; about: string }>(
    `update mails set state = $2, settled_at = $3, leased_until = null,
       mail_sealed = case when $2 = 'dead' then mail_sealed end
     where id = $1 and state = 'queued' returning kind, about`,
    [id, outcome, now],
  )
  return rows[0]
}

export const isLastAttempt = (mail: { attempts: number }) => mail.attempts >= MAX_ATTEMPTS
