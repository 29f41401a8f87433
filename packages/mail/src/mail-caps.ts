import { canonicalEmail, DAY_MS, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'

/** How many mails may go within any 24 hours. */
export interface MailCaps {
  readonly mailbox: number
  readonly domain: number
  readonly all: number
}

/** How many mails may wait for room under the cap of their domain, or of all. */
export interface WaitingBounds {
  /** Mails of one kind that one network requested. */
  readonly sender: number
  readonly all: number
}

const scaledBy = (factor: number) => (figure: number) => Math.max(1, Math.floor(figure * factor))

/** @param factor multiplies each cap, as it does other limits; none falls below one */
export function scaledMailCaps(factor: number): MailCaps {
  const scaled = scaledBy(factor)
  return {
    mailbox: scaled(RULES.mailsToMailbox),
    domain: scaled(2_000),
    all: scaled(20_000),
  }
}

/** @param factor multiplies each bound; none falls below one */
export function scaledWaitingBounds(factor: number): WaitingBounds {
  const scaled = scaledBy(factor)
  return { sender: scaled(40), all: scaled(8_000) }
}

/** How much of a cap a mail may use: a fifth is reserved for mails that a person asked for. */
export const usableShare = (cap: number, askedFor: boolean): number =>
  askedFor ? cap : Math.max(1, Math.floor((cap * 4) / 5))

/** SQL condition on a row of `mails`: it waits for room under a cap. */
export const WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`

/** `counted`: the mail may go. `deferred`: it waits for room. `mailbox-full`: its mailbox has had enough. */
type CountResult = 'counted' | 'deferred' | 'mailbox-full'

interface CapDeps {
  readonly hashKey: HashKey
  readonly caps: MailCaps
}

/** Lets one worker count at a time, so that two cannot both use the last room; `lock_timeout` bounds the wait. */
const LOCK = `select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`

const Counts = z.object({
  mailbox: z.int(),
  domain: z.int(),
  all: z.int(),
  domainHasWaiting: z.boolean(),
  allHaveWaiting: z.boolean(),
})

/**
 * Counts a mail under the caps. It waits instead if the cap of its domain, or of all, is used up, or if other mails wait for
 * that room already. Waiting costs no attempt. The cap of the mailbox is checked last, so that which mails wait reveals
 * nothing about a mailbox.
 *
 * @param tx holds the lock of the caps until it ends
 * @param mail.waitUntil when the mail is given up, if it has to wait
 */
export async function countMail(
  tx: Database,
  { hashKey, caps }: CapDeps,
  mail: { id: string; to: string; askedFor: boolean; waitUntil: Date },
  now: Date,
): Promise<CountResult> {
  const { mailbox, domain } = mailboxOf(mail.to)
  const hashes = [hashKey.hash('mail/mailbox', mailbox), hashKey.hash('mail/domain', domain)]
  await tx.query(LOCK)
  const { rows } = await tx.query(
    `select
       (select count(*) from mails where mailbox_hash = $1 and counted_at > $3) as mailbox,
       (select count(*) from mails where domain_hash = $2 and counted_at > $3) as domain,
       (select count(*) from mails where counted_at > $3) as all,
       exists (select from mails where ${WAITING} and domain_hash = $2 and deferred_by = 'domain'
               and (asked_for or not $4)) as "domainHasWaiting",
       exists (select from mails where ${WAITING} and deferred_by = 'all' and (asked_for or not $4)) as "allHaveWaiting"`,
    [...hashes, new Date(now.getTime() - DAY_MS), mail.askedFor],
  )
  const counts = Counts.parse(rows[0])
  const share = (cap: number) => usableShare(cap, mail.askedFor)
  const isDomainFull = counts.domainHasWaiting || counts.domain >= share(caps.domain)
  const areAllFull = counts.allHaveWaiting || counts.all >= share(caps.all)
  if (isDomainFull || areAllFull) {
    await tx.query(
      `update mails set mailbox_hash = $2, domain_hash = $3, hash_key = $4, deferred_by = $5, overdue_at = $6,
         attempts = attempts - 1, leased_until = null
       where id = $1 and state = 'queued'`,
      [mail.id, ...hashes, hashKey.id, isDomainFull ? 'domain' : 'all', mail.waitUntil],
    )
    return 'deferred'
  }
  if (counts.mailbox >= caps.mailbox) return 'mailbox-full'
  await tx.query(
    'update mails set mailbox_hash = $2, domain_hash = $3, hash_key = $4, counted_at = $5 where id = $1',
    [mail.id, ...hashes, hashKey.id, now],
  )
  return 'counted'
}

const Verdict = z.enum(['counted', 'mailbox', 'domain', 'all'])
const JudgedMail = z.object({ id: z.uuid(), verdict: Verdict })

/** Released mails are older than new ones, so they are sent first: a bound keeps new mails from waiting behind thousands. */
const RELEASED_AT_ONCE = 100

/**
 * Judges the waiting mails in the order in which they get room: those that a person asked for, then those of the network that
 * got the fewest of the kind within 24 hours, then the oldest. A verdict of `domain` or `all` names the cap that the mail still
 * waits for, and `mailbox` a mail for which only its mailbox has no room. Returns the mails for which something changes.
 *
 * `turn` numbers the mails of a kind that a network requested, counted ones first.
 */
const JUDGE_WAITING_MAILS = `
  with counted as (select kind, coalesce(sender_hash, '') as sender, domain_hash, mailbox_hash from mails where counted_at > $1),
  waiting as (
    select id, kind, coalesce(sender_hash, '') as sender, domain_hash, mailbox_hash, asked_for, deferred_by, created_at,
      case when asked_for then $2::bigint else $3::bigint end as domain_share,
      case when asked_for then $4::bigint else $5::bigint end as all_share
    from mails where ${WAITING}),
  turns as (
    select waiting.*, coalesce(sent.count, 0)
      + row_number() over (partition by kind, sender order by created_at, id) as turn
    from waiting left join (select kind, sender, count(*) from counted group by 1, 2) as sent using (kind, sender)),
  in_domain as (
    select turns.*, domain_share >= coalesce(sent.count, 0)
      + row_number() over (partition by domain_hash order by asked_for desc, turn, created_at, id) as domain_has_room
    from turns left join (select domain_hash, count(*) from counted group by 1) as sent using (domain_hash)),
  in_all as (
    select in_domain.*, all_share >= (select count(*) from counted)
      + row_number() over (partition by domain_has_room order by asked_for desc, turn, created_at, id) as all_have_room
    from in_domain),
  in_mailbox as (
    select in_all.*, domain_has_room and all_have_room as has_room, $6::bigint >= coalesce(sent.count, 0)
      + row_number() over (partition by mailbox_hash, domain_has_room and all_have_room
                           order by asked_for desc, turn, created_at, id) as mailbox_has_room
    from in_all left join (select mailbox_hash, count(*) from counted group by 1) as sent using (mailbox_hash)),
  judged as (
    select *, case when not domain_has_room then 'domain' when not all_have_room then 'all'
                   when mailbox_has_room then 'counted' else 'mailbox' end as verdict from in_mailbox)
  select id, verdict from judged where verdict <> deferred_by order by has_room desc, asked_for desc, turn, created_at, id`

/**
 * Releases waiting mails for which there is room by now, at most 100 at once: they are counted, and due.
 *
 * @returns the ids of mails that could be released, but whose mailbox has had enough
 */
export async function releaseWaitingMails(
  tx: Database,
  { caps }: Pick<CapDeps, 'caps'>,
  now: Date,
): Promise<readonly string[]> {
  const { rowCount } = await tx.query(`select from mails where ${WAITING} limit 1`)
  if (rowCount === 0) return []
  await tx.query(LOCK)
  const { rows } = await tx.query(JUDGE_WAITING_MAILS, [
    new Date(now.getTime() - DAY_MS),
    ...[caps.domain, caps.all].flatMap((cap) => [usableShare(cap, true), usableShare(cap, false)]),
    caps.mailbox,
  ])
  const judged = z.array(JudgedMail).parse(rows)
  const idsWith = (verdict: z.infer<typeof Verdict>) =>
    judged.filter((mail) => mail.verdict === verdict).map(({ id }) => id)
  // Another mailer may be giving up a mail whose time is over.
  await tx.query(
    `update mails set counted_at = $2, overdue_at = $2 where id = any ($1) and ${WAITING} and overdue_at > $2`,
    [idsWith('counted').slice(0, RELEASED_AT_ONCE), now],
  )
  for (const cap of ['domain', 'all'] as const)
    await tx.query(`update mails set deferred_by = $2 where id = any ($1) and ${WAITING}`, [
      idsWith(cap),
      cap,
    ])
  return idsWith('mailbox')
}

const GMAIL = new Set(['gmail.com', 'googlemail.com'])

/**
 * The mailbox that an address reaches, for counting only: without the plus-tag, and for Gmail without the dots. Mail
 * itself goes to the address as typed.
 */
export function mailboxOf(address: string): { mailbox: string; domain: string } {
  const canonical = canonicalEmail(address)
  if (canonical === undefined) throw new Error('a mail is stored for what is no address')
  const at = canonical.lastIndexOf('@')
  const typedDomain = canonical.slice(at + 1)
  const domain = GMAIL.has(typedDomain) ? 'gmail.com' : typedDomain
  const local = canonical.slice(0, at)
  // A local part that begins with its plus is all tag.
  const untagged = local.replace(/(?<=.)\+.*$/u, '')
  return { mailbox: `${domain === 'gmail.com' ? untagged.replaceAll('.', '') : untagged}@${domain}`, domain }
}
