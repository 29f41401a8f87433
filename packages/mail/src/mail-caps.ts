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

/** @param factor multiplies each cap, as it does other limits; none falls below one */
export function scaledMailCaps(factor: number): MailCaps {
  const scaled = (cap: number) => Math.max(1, Math.floor(cap * factor))
  return { mailbox: scaled(RULES.mailsToMailbox), domain: scaled(2_000), all: scaled(20_000) }
}

const Counts = z.object({ mailbox: z.int(), domain: z.int(), all: z.int() })

/**
 * Counts a mail, unless one of the caps is reached. All who count wait for each other, so that two workers cannot both
 * take the last place; the wait is bounded by the connection's `lock_timeout`.
 *
 * @param tx the mail's row is locked in it
 * @returns the cap that is reached
 */
export async function countMail(
  tx: Database,
  deps: { hashKey: HashKey; caps: MailCaps },
  mail: { id: string; to: string },
  now: Date,
): Promise<keyof MailCaps | undefined> {
  const { mailbox, domain } = mailboxOf(mail.to)
  const hashes = [deps.hashKey.hash('mail/mailbox', mailbox), deps.hashKey.hash('mail/domain', domain)]
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('plainpath mail caps', 0))`)
  const { rows } = await tx.query(
    `select
       (select count(*) from mails where mailbox_hash = $1 and counted_at > $3) as mailbox,
       (select count(*) from mails where domain_hash = $2 and counted_at > $3) as domain,
       (select count(*) from mails where counted_at > $3) as all`,
    [...hashes, new Date(now.getTime() - DAY_MS)],
  )
  const counts = Counts.parse(rows[0])
  const reached = (['mailbox', 'domain', 'all'] as const).find((cap) => counts[cap] >= deps.caps[cap])
  if (reached !== undefined) return reached
  await tx.query(
    'update mails set counted_at = $2, mailbox_hash = $3, domain_hash = $4, hash_key = $5 where id = $1',
    [mail.id, now, ...hashes, deps.hashKey.id],
  )
  return undefined
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
