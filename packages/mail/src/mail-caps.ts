import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'
import { mailboxOf } from './mailbox.ts'
import { DAY_MS } from './times.ts'

/** How many mails may go within any 24 hours. */
export interface MailCaps {
  readonly mailbox: number
  readonly domain: number
  readonly all: number
}

export const MAIL_CAPS: MailCaps = { mailbox: 5, domain: 2_000, all: 20_000 }

/** @param factor multiplies each cap, as it does other limits; none falls below one */
export function scaledMailCaps(factor: number): MailCaps {
  const scaled = (cap: number) => Math.max(1, Math.floor(cap * factor))
  const { mailbox, domain, all } = MAIL_CAPS
  return { mailbox: scaled(mailbox), domain: scaled(domain), all: scaled(all) }
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
