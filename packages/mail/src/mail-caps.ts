/*
 * Caps: the maximum numbers of mails to a mailbox, to a domain and in total within 24 hours. This module counts the mails. A mail
 * over a shared cap (`domain` or `all`) waits until this module releases it. docs/decisions/0031 explains why.
 */
import { canonicalizeEmail, DAY_MS, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'

/** The maximum numbers of mails that are sent within any 24 hours. Each app counts only its own mails. */
export interface MailCaps {
  /** Protects the owner of the mailbox, from mails that no person is known to have requested. */
  readonly mailbox: number
  /** The same for mails that a person requested. At most `mailbox` of them may be requested from one network. */
  readonly requestedMailbox: number
  /** Protects, like `all`, the reputation of the mail relay. */
  readonly domain: number
  readonly all: number
}

/** The maximum numbers of mails that may wait for room under the shared caps. */
export interface WaitingMailBounds {
  /** The maximum number of waiting mails of one kind for each network that requested them. */
  readonly network: number
  readonly all: number
}

const createScale = (factor: number) => (limit: number) => Math.max(1, Math.floor(limit * factor))

/**
 * Scales the caps.
 *
 * @param factor multiplies each cap, as it multiplies rate limits; no cap falls below one
 */
export function scaleMailCaps(factor: number): MailCaps {
  const scale = createScale(factor)
  return {
    mailbox: scale(RULES.mailsToMailbox),
    requestedMailbox: scale(RULES.requestedMailsToMailbox),
    domain: scale(2_000),
    all: scale(20_000),
  }
}

/**
 * Scales the bounds on waiting mails.
 *
 * @param factor multiplies each bound; no bound falls below one
 */
export function scaleWaitingMailBounds(factor: number): WaitingMailBounds {
  const scale = createScale(factor)
  return { network: scale(40), all: scale(8_000) }
}

/**
 * Returns the part of a shared cap, or of the bound on all waiting mails, that a mail may use. A fifth is reserved for mails that a
 * person requested.
 */
export const getUsableShare = (cap: number, isRequestedByPerson: boolean): number =>
  isRequestedByPerson ? cap : Math.max(1, Math.floor((cap * 4) / 5))

/** SQL condition on a row of `mails`: the mail waits for room under a cap. */
export const IS_WAITING = `state = 'queued' and deferred_by is not null and counted_at is null`

/**
 * The decision on a mail. `counted`: it may be sent, and counts under the caps. `domain`, `all`: it waits for room under this shared
 * cap. `mailbox-full`: only the cap of its mailbox is used up, so the caller must drop it.
 */
const Verdict = z.enum(['counted', 'mailbox-full', 'domain', 'all'])
type Verdict = z.infer<typeof Verdict>

interface CapDeps {
  readonly hashKey: HashKey
  readonly caps: MailCaps
}

/** SQL that lets only one mailer count at a time. Otherwise, two mailers could use the same room. `lock_timeout` bounds the wait. */
const LOCK_CAPS = `select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`

/**
 * SQL that decides whether a mail may be sent now, and records the decision. Returns a `Verdict`.
 *
 * Parameters: $1 the id of the mail, $2 the hash of its mailbox, $3 the hash of its domain, $4 the id of the hash key,
 * $5 24 hours ago, $6 now, $7 whether a person requested the mail, $8 the cap of its mailbox, $9 the part of its domain's cap
 * that it may use, $10 the part of the cap of all mails that it may use, $11 the time at which the mail is given up, if it has
 * to wait, $12 the cap of its mailbox for mails that were requested from its network.
 */
const COUNT_MAIL = `
  with full_caps as (
    select
      (select count(*) >= $8::bigint or count(*) filter (
         where sender_hash is not distinct from (select sender_hash from mails where id = $1)) >= $12::bigint
       from mails where mailbox_hash = $2 and asked_for = $7 and counted_at > $5) as mailbox,
      (select count(*) from mails where domain_hash = $3 and counted_at > $5) >= $9::bigint
        or exists (select from mails where ${IS_WAITING} and domain_hash = $3 and deferred_by = 'domain'
                   and (asked_for or not $7)) as domain,
      (select count(*) from mails where counted_at > $5) >= $10::bigint
        or exists (select from mails where ${IS_WAITING} and deferred_by = 'all' and (asked_for or not $7)) as all),
  judged as (
    select case when domain then 'domain' when full_caps.all then 'all' when mailbox then 'mailbox-full'
                else 'counted' end as verdict
    from full_caps),
  counted as (
    update mails set mailbox_hash = $2, domain_hash = $3, hash_key = $4, counted_at = $6
    from judged where id = $1 and verdict = 'counted'),
  deferred as (
    update mails set mailbox_hash = $2, domain_hash = $3, hash_key = $4, counted_at = null, deferred_by = verdict,
      overdue_at = $11, attempts = attempts - 1, leased_until = null
    from judged where id = $1 and state = 'queued' and verdict in ('domain', 'all'))
  select verdict from judged`

/**
 * Counts a mail under the caps. If a shared cap is used up, or if other mails of at least the same priority wait for room under it,
 * the mail waits instead, which costs no attempt. The mailbox cap is checked last: otherwise, waiting mails would reveal how many
 * mails a mailbox received.
 *
 * @param tx a transaction, which has the lock on the caps until it ends
 * @param mail.giveUpAt when the mail is given up, if it has to wait
 */
export async function countMail(
  tx: Database,
  { hashKey, caps }: CapDeps,
  mail: { id: string; to: string; isRequestedByPerson: boolean; giveUpAt: Date },
  now: Date,
): Promise<Verdict> {
  const { mailbox, domain } = parseMailbox(mail.to)
  const hashes = [hashKey.hash('mail/mailbox', mailbox), hashKey.hash('mail/domain', domain)]
  // Locks in a separate statement: only a statement that begins while the lock is held sees all mails that other mailers have counted.
  await tx.query(LOCK_CAPS)
  const { rows } = await tx.query<{ verdict: string }>(COUNT_MAIL, [
    mail.id,
    ...hashes,
    hashKey.id,
    new Date(now.getTime() - DAY_MS),
    now,
    mail.isRequestedByPerson,
    mail.isRequestedByPerson ? caps.requestedMailbox : caps.mailbox,
    getUsableShare(caps.domain, mail.isRequestedByPerson),
    getUsableShare(caps.all, mail.isRequestedByPerson),
    mail.giveUpAt,
    caps.mailbox,
  ])
  return Verdict.parse(rows[0]?.verdict)
}

const JudgedMail = z.object({ id: z.uuid(), kind: z.string(), about: z.string(), verdict: Verdict })
type JudgedMail = z.infer<typeof JudgedMail>

/** The maximum number of mails in one release. New mails are sent after the released mails, and must not wait for thousands of them. */
const MAX_RELEASED = 100

/**
 * SQL that decides which waiting mails are released. Mails that a person requested come first, then those whose network had the
 * fewest mails of the same kind counted in the last 24 hours (see `turn`), then the oldest. Returns the mails whose verdict is no longer
 * the cap that they wait for.
 *
 * `turn` numbers the mails of a kind that one network requested: first those that were counted, then those that wait.
 */
const JUDGE_WAITING_MAILS = `
  with counted as (select kind, coalesce(sender_hash, '') as network, domain_hash, mailbox_hash, asked_for
    from mails where counted_at > $1),
  waiting as (
    select id, kind, about, coalesce(sender_hash, '') as network, domain_hash, mailbox_hash, asked_for, deferred_by, created_at,
      case when asked_for then $2::bigint else $3::bigint end as domain_share,
      case when asked_for then $4::bigint else $5::bigint end as all_share,
      case when asked_for then $6::bigint else $7::bigint end as mailbox_share
    from mails where ${IS_WAITING}),
  turns as (
    select waiting.*, coalesce(sent.count, 0)
      + row_number() over (partition by kind, network order by created_at, id) as turn
    from waiting left join (select kind, network, count(*) from counted group by 1, 2) as sent using (kind, network)),
  in_domain as (
    select turns.*, domain_share >= coalesce(sent.count, 0)
      + row_number() over (partition by domain_hash order by asked_for desc, turn, created_at, id) as domain_has_room
    from turns left join (select domain_hash, count(*) from counted group by 1) as sent using (domain_hash)),
  in_all as (
    select in_domain.*, all_share >= (select count(*) from counted)
      + row_number() over (partition by domain_has_room order by asked_for desc, turn, created_at, id) as total_has_room
    from in_domain),
  in_network as (
    select in_all.*, domain_has_room and total_has_room as has_room, $7::bigint >= coalesce(sent.count, 0)
      + row_number() over (partition by mailbox_hash, asked_for, network, domain_has_room and total_has_room
                           order by turn, created_at, id) as network_has_room
    from in_all left join (select mailbox_hash, asked_for, network, count(*) from counted group by 1, 2, 3) as sent
      using (mailbox_hash, asked_for, network)),
  in_mailbox as (
    select in_network.*, network_has_room and mailbox_share >= coalesce(sent.count, 0)
      + row_number() over (partition by mailbox_hash, asked_for, has_room, network_has_room
                           order by turn, created_at, id) as mailbox_has_room
    from in_network left join (select mailbox_hash, asked_for, count(*) from counted group by 1, 2) as sent
      using (mailbox_hash, asked_for)),
  judged as (
    select *, case when not domain_has_room then 'domain' when not total_has_room then 'all'
                   when mailbox_has_room then 'counted' else 'mailbox-full' end as verdict from in_mailbox)
  select id, kind, about, verdict from judged where verdict <> deferred_by order by has_room desc, asked_for desc, turn, created_at, id`

/**
 * Releases at most 100 waiting mails for which there is room now: they are counted, and due at once. If a mail waits for room under
 * another cap than before, records that.
 *
 * @returns the mails that have room under the shared caps, but not under their mailbox cap; the caller must drop them
 */
export async function releaseWaitingMails(
  tx: Database,
  { caps }: Pick<CapDeps, 'caps'>,
  now: Date,
): Promise<readonly JudgedMail[]> {
  const { rowCount } = await tx.query(`select from mails where ${IS_WAITING} limit 1`)
  if (rowCount === 0) return []
  await tx.query(LOCK_CAPS)
  const { rows } = await tx.query(JUDGE_WAITING_MAILS, [
    new Date(now.getTime() - DAY_MS),
    ...[caps.domain, caps.all].flatMap((cap) => [getUsableShare(cap, true), getUsableShare(cap, false)]),
    caps.requestedMailbox,
    caps.mailbox,
  ])
  const judgedMails = z.array(JudgedMail).parse(rows)
  const selectMails = (verdict: Verdict) => judgedMails.filter((mail) => mail.verdict === verdict)
  const selectMailIds = (verdict: Verdict) => selectMails(verdict).map(({ id }) => id)
  // A waiting mail whose `overdue_at` has passed has waited too long, and another mailer may be giving it up. It is not released.
  await tx.query(
    `update mails set counted_at = $2, overdue_at = $2 where id = any ($1) and ${IS_WAITING} and overdue_at > $2`,
    [selectMailIds('counted').slice(0, MAX_RELEASED), now],
  )
  for (const cap of ['domain', 'all'] as const)
    await tx.query(`update mails set deferred_by = $2 where id = any ($1) and ${IS_WAITING}`, [
      selectMailIds(cap),
      cap,
    ])
  return selectMails('mailbox-full')
}

/** The two domains of the same Gmail mailboxes. Gmail ignores dots in the local part. */
const GMAIL_DOMAINS = new Set(['gmail.com', 'googlemail.com'])

/**
 * Normalises an address to its mailbox, for counting and blocking: removes the plus-tag and, for Gmail, the dots. The mail itself is
 * sent to the address as typed.
 *
 * @throws {Error} if the text is not an address
 */
export function parseMailbox(address: string): { mailbox: string; domain: string } {
  const canonical = canonicalizeEmail(address)
  if (canonical === undefined) throw new Error('the text is not an e-mail address')
  const atIndex = canonical.lastIndexOf('@')
  const typedDomain = canonical.slice(atIndex + 1)
  const domain = GMAIL_DOMAINS.has(typedDomain) ? 'gmail.com' : typedDomain
  const localPart = canonical.slice(0, atIndex)
  // Keeps a plus at the beginning: without its tag, such a local part would be empty.
  const untaggedPart = localPart.replace(/(?<=.)\+.*$/u, '')
  return {
    mailbox: `${domain === 'gmail.com' ? untaggedPart.replaceAll('.', '') : untaggedPart}@${domain}`,
    domain,
  }
}
