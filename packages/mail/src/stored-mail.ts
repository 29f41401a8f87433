import { DAY_MS, MAX_CLOCK_SKEW_MS, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { MailOutcome } from './mail.ts'
import { IS_WAITING } from './mail-caps.ts'

/*
 * The statements on the table `mails`, which is the queue. A mail is due when it is `queued` and its `overdue_at` has passed.
 * Leasing it moves `overdue_at` to the end of the lease, so a mail whose mailer is killed becomes due again. A mail that
 * waits for room under a cap (`IS_WAITING`) is not due. Its `overdue_at` is the time at which it is given up.
 */

/** The maximum number of attempts. The pause after attempt n lasts e^n seconds, at most e^10: 3 s, 7 s, 20 s, … 6 h. Together about 16 hours. */
export const MAX_ATTEMPTS = 12
const getPauseMs = (attempts: number) => Math.exp(Math.min(10, attempts)) * 1_000

/**
 * Exceeds the longest delivery (`DELIVERY_MS`) by 20 s. If the clocks of two machines differ by more, another mailer can repeat a
 * slow delivery.
 */
const LEASE_MS = 80_000

/**
 * For how long after the end of its lease a mail may still be passed to the mail server, by the clock of another machine. The clocks of
 * two machines can be this far apart, because each may differ from the database's by half of it.
 */
const LEASE_TOLERANCE_MS = 2 * MAX_CLOCK_SKEW_MS

/** The maximum number of rows that one statement of the upkeep reads or changes. */
const BATCH_SIZE = 500
/** How long the content of a dead mail is stored after its last attempt, which is usually within a day of the first. */
const DEAD_CONTENT_MS = RULES.undeliveredMailMs - DAY_MS

const LeasedMail = z
  .object({
    id: z.uuid(),
    kind: z.string(),
    about: z.string(),
    mail_sealed: z.instanceof(Buffer),
    message_id: z.string(),
    attempts: z.int(),
    created_at: z.date(),
    counted_at: z.date().nullable(),
    hash_key: z.string().nullable(),
    deferred_by: z.string().nullable(),
    asked_for: z.boolean(),
  })
  .transform(({ mail_sealed: sealed, message_id: messageId, created_at: createdAt, ...mail }) => ({
    id: mail.id,
    kind: mail.kind,
    about: mail.about,
    attempts: mail.attempts,
    isRequestedByPerson: mail.asked_for,
    sealed,
    messageId,
    createdAt,
    /** False if the mail has not been counted yet, or so long ago that `forgetMails` has erased its hashes. */
    isCounted: mail.hash_key !== null && mail.counted_at !== null,
    /** When the mail was released; null if it did not have to wait. */
    releasedAt: mail.deferred_by === null ? null : mail.counted_at,
  }))

/** Identifies a mail and its handler. */
export type MailReference = Pick<LeasedMail, 'id' | 'kind' | 'about'>

/** A mail that only this mailer may send until the lease ends. `attempts` includes the current attempt. */
export type LeasedMail = z.output<typeof LeasedMail>

/**
 * Leases the mail that has been due the longest. Mails that a person requested come first. Skips rows that another mailer is
 * leasing at the same time.
 *
 * @param domain the domain that completes the Message-ID before the first attempt
 * @returns undefined if no mail is due
 */
export async function leaseNextMail(
  db: Database,
  domain: string,
  now: Date,
): Promise<LeasedMail | undefined> {
  const { rows } = await db.query(
    `update mails set attempts = attempts + 1, leased_until = $2, overdue_at = $2,
       message_id = case when position('@' in message_id) = 0 then message_id || '@' || $3 else message_id end
     where id = (
       select id from mails where state = 'queued' and overdue_at <= $1 and attempts < ${MAX_ATTEMPTS}
         and (deferred_by is null or counted_at is not null)
       order by asked_for desc, overdue_at limit 1 for update skip locked)
     returning id, kind, about, mail_sealed, message_id, attempts, created_at, counted_at, hash_key, deferred_by,
       asked_for`,
    [now, new Date(now.getTime() + LEASE_MS), domain],
  )
  return LeasedMail.optional().parse(rows[0])
}

/** Ends a mail's lease and schedules its next attempt, unless another mailer has leased it since. */
export async function returnMail(db: Database, { id, attempts }: LeasedMail, now: Date): Promise<void> {
  await db.query(
    `update mails set leased_until = null, overdue_at = $3 where id = $1 and state = 'queued' and attempts = $2`,
    [id, attempts, new Date(now.getTime() + getPauseMs(attempts))],
  )
}

/**
 * Settles a mail unless it was settled before. Erases its content, except that of a dead mail, which `forgetMails` erases later. A
 * mail that is dropped at its first attempt never reached a server, so it no longer counts under the caps.
 *
 * @returns false if the mail was settled before
 */
export async function settleMail(
  db: Database,
  id: string,
  outcome: MailOutcome,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update mails set state = $2, settled_at = $3, leased_until = null,
       mail_sealed = case when $2 = 'dead' then mail_sealed end,
       counted_at = case when $2 <> 'dropped' or attempts > 1 then counted_at end
     where id = $1 and state = 'queued'`,
    [id, outcome, now],
    'settle-mail',
  )
  return rowCount === 1
}

/** Finds at most 500 mails whose last attempt was interrupted, for example because the mailer was killed. */
export async function findSpentMails(db: Database, now: Date): Promise<MailReference[]> {
  const { rows } = await db.query<MailReference>(
    `select id, kind, about from mails where state = 'queued' and overdue_at <= $1 and attempts >= ${MAX_ATTEMPTS}
     order by overdue_at limit ${BATCH_SIZE}`,
    [now],
  )
  return rows
}

/** Finds at most 500 mails that have waited too long for room under a cap. */
export async function findMailsToGiveUp(db: Database, now: Date): Promise<MailReference[]> {
  const { rows } = await db.query<MailReference>(
    `select id, kind, about from mails where ${IS_WAITING} and overdue_at <= $1 order by overdue_at limit ${BATCH_SIZE}`,
    [now],
  )
  return rows
}

/**
 * Erases data whose retention has ended: contents of dead mails, hashes of mailboxes, domains and networks, and settled rows. Each
 * statement changes at most 500 rows.
 */
export async function forgetMails(db: Database, now: Date): Promise<void> {
  const timeBefore = (ms: number) => new Date(now.getTime() - ms)
  await db.query(
    `update mails set mail_sealed = null where id in
       (select id from mails where state = 'dead' and mail_sealed is not null and settled_at <= $1 limit ${BATCH_SIZE})`,
    [timeBefore(DEAD_CONTENT_MS)],
  )
  // A released mail that was not sent yet is counted again later. It keeps `counted_at`, since without it, it would wait (`IS_WAITING`)
  // and soon be given up, and `deferred_by`, since its links are renewed.
  await db.query(
    `update mails set mailbox_hash = null, domain_hash = null, hash_key = null,
       counted_at = case when state = 'queued' and deferred_by is not null then counted_at end where id in
       (select id from mails where counted_at <= $1 and (hash_key is not null or state <> 'queued') limit ${BATCH_SIZE})`,
    [timeBefore(RULES.mailCountedMs)],
  )
  await db.query(
    `update mails set sender_hash = null, mailbox_hash = null, domain_hash = null, hash_key = null where id in
       (select id from mails where coalesce(sender_hash, domain_hash) is not null and settled_at <= $1 limit ${BATCH_SIZE})`,
    [timeBefore(RULES.mailCountedMs)],
  )
  await db.query(
    `delete from mails where id in (select id from mails where settled_at <= $1 limit ${BATCH_SIZE})`,
    [timeBefore(RULES.mailKeptMs)],
  )
}

/**
 * Drops all queued mails about some subjects. Erases their contents, and the contents of dead mails about them. A mail that a mailer
 * is passing to the mail server at this moment is still sent.
 *
 * @param tx the transaction that also erases the subjects
 * @param abouts the values with which the mails were added
 */
export async function eraseMails(tx: Database, abouts: readonly string[], now: Date): Promise<void> {
  await tx.query(
    `update mails set mail_sealed = null, leased_until = null,
       state = case when state = 'queued' then 'dropped' else state end, settled_at = coalesce(settled_at, $2)
     where about = any ($1) and (state = 'queued' or (state = 'dead' and mail_sealed is not null and settled_at > $3))`,
    [abouts, now, new Date(now.getTime() - DEAD_CONTENT_MS - DAY_MS)],
  )
}

/**
 * How far the delivery of a mail has come. `not-attempted`: the mail is queued, and no mailer has leased it yet. `in-progress`: a
 * mailer has leased it and may be passing it to the mail server now. `attempted`: in all other cases, so the recipient may have it.
 */
export type DeliveryState = 'not-attempted' | 'in-progress' | 'attempted'

/**
 * Reads how far the delivery of a mail has come. If its mailer was killed, it is `in-progress` until a minute after the lease. Locks
 * the mail, so that no mailer can lease it until `tx` ends.
 */
export async function readDeliveryState(
  tx: Database,
  { kind, about }: { kind: string; about: string },
  now: Date,
): Promise<DeliveryState> {
  const { rows } = await tx.query<{ attempts: number; leased_until: Date | null }>(
    `select attempts, leased_until from mails where about = $1 and kind = $2 and state = 'queued' for update`,
    [about, kind],
  )
  const earliestEnd = new Date(now.getTime() - LEASE_TOLERANCE_MS)
  if (rows.some(({ leased_until: leasedUntil }) => leasedUntil !== null && leasedUntil > earliestEnd))
    return 'in-progress'
  // Every earlier attempt counts, even one that the server refused. A row does not say how an attempt ended, and the server may have
  // accepted the mail although its response was late or lost. `leaseNextMail` counts an attempt before it begins, so the attempt of a
  // mailer that was killed counts too. A dead mail is no longer queued, and its row is
  // deleted later. So a missing row counts as an attempt too.
  return rows.length > 0 && rows.every(({ attempts }) => attempts === 0) ? 'not-attempted' : 'attempted'
}
