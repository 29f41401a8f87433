import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { auditDesk } from '../desk-audit.ts'
import { emailPlace } from './waitlist-store.ts'

const count = z.int().min(0)
const Statistics = z.object({
  entries: count,
  confirmed: count,
  referred: count,
  /** Referred and confirmed: only these count for who referred them. */
  credited: count,
})

/** Numbers only: it needs no key. */
export async function waitlistStatistics(db: Database): Promise<z.infer<typeof Statistics>> {
  const { rows } = await db.query(
    `select count(*) as entries, count(confirmed_at) as confirmed, count(referred_by) as referred,
       count(*) filter (where referred_by is not null and confirmed_at is not null) as credited
     from waitlist_entries`,
  )
  return Statistics.parse(rows[0])
}

const Listed = z.object({
  id: z.uuid(),
  joinedAt: z.date(),
  confirmedAt: z.date().nullable(),
  referred: z.boolean(),
})
export type ListedEntry = z.infer<typeof Listed>

const LISTED =
  'id, joined_at as "joinedAt", confirmed_at as "confirmedAt", referred_by is not null as referred'

/** The newest entries, without addresses. */
export async function listEntries(db: Database, limit: number): Promise<ListedEntry[]> {
  const { rows } = await db.query(
    `select ${LISTED} from waitlist_entries order by joined_at desc, id limit $1`,
    [limit],
  )
  return z.array(Listed).parse(rows)
}

const Sealed = Listed.extend({ referralSlug: z.string(), email_sealed: z.instanceof(Buffer) })
const PAGE = 500

/** Every entry with its address, in the order of ids, a page at a time; the whole reading is written down first. */
export async function* exportEntries(
  db: Pool,
  { sealingKeys, actor, now }: { sealingKeys: SealingKeys; actor: string; now: Date },
) {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ entries: number }>('select count(*) as entries from waitlist_entries')
    const about = `${rows[0]?.entries ?? 0} entries`
    await auditDesk(tx, { actor, action: 'waitlist export', about }, now)
  })
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await db.query(
      `select ${LISTED}, referral_slug as "referralSlug", email_sealed
       from waitlist_entries where id > $1 order by id limit ${PAGE}`,
      [after],
    )
    for (const { email_sealed: sealed, ...entry } of z.array(Sealed).parse(rows)) {
      const email = sealingKeys.open(sealed, emailPlace(entry.id)).toString('utf8')
      yield { ...entry, email }
      after = entry.id
    }
    if (rows.length < PAGE) return
  }
}

/** Takes the entry of a mailbox and its links out. @returns its id; undefined when there is none */
export const forgetEntry = (
  db: Pool,
  {
    hashKey,
    canonicalEmail,
    actor,
    now,
  }: { hashKey: HashKey; canonicalEmail: string; actor: string; now: Date },
): Promise<string | undefined> =>
  db.transaction(async (tx) => {
    const hash = hashKey.hash('email-index/waitlist', canonicalEmail)
    await tx.query('delete from waitlist_links where email_hash = $1', [hash])
    const { rows } = await tx.query<{ id: string }>(
      'delete from waitlist_entries where email_hash = $1 returning id',
      [hash],
    )
    if (!rows[0]) return undefined
    await auditDesk(tx, { actor, action: 'waitlist forget', about: rows[0].id }, now)
    return rows[0].id
  })
