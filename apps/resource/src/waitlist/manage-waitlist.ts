import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { recordStaffAct } from '../staff-audit.ts'
import { emailEncryptionContext } from './waitlist-store.ts'

const count = z.int().min(0)
const Statistics = z.object({
  entries: count,
  confirmed: count,
  referred: count,
  /** Referred and confirmed entries: only these are credited to the person who referred them. */
  credited: count,
})

/** Counts entries. Decrypts nothing, so it needs no key. */
export async function waitlistStatistics(db: Database): Promise<z.infer<typeof Statistics>> {
  const { rows } = await db.query(
    `select count(*) as entries, count(confirmed_at) as confirmed, count(referred_by) as referred,
       count(*) filter (where referred_by is not null and confirmed_at is not null) as credited
     from waitlist_entries`,
  )
  return Statistics.parse(rows[0])
}

const ListedEntryRow = z.object({
  id: z.uuid(),
  joinedAt: z.date(),
  confirmedAt: z.date().nullable(),
  referred: z.boolean(),
})
export type ListedEntry = z.infer<typeof ListedEntryRow>

const LISTED_COLUMNS =
  'id, joined_at as "joinedAt", confirmed_at as "confirmedAt", referred_by is not null as referred'

/** Lists the newest entries, without addresses. */
export async function listEntries(db: Database, limit: number): Promise<ListedEntry[]> {
  const { rows } = await db.query(
    `select ${LISTED_COLUMNS} from waitlist_entries order by joined_at desc, id limit $1`,
    [limit],
  )
  return z.array(ListedEntryRow).parse(rows)
}

const SealedEntry = ListedEntryRow.extend({ referralSlug: z.string(), email_sealed: z.instanceof(Buffer) })
const PAGE = 500

/** Yields every entry with its address, ordered by id. Records the export in the audit before the first entry. */
export async function* exportEntries(
  db: Pool,
  { sealingKeys, actor, now }: { sealingKeys: SealingKeys; actor: string; now: Date },
) {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ entries: number }>('select count(*) as entries from waitlist_entries')
    const about = `${rows[0]?.entries ?? 0} entries`
    await recordStaffAct(tx, { actor, action: 'waitlist export', about }, now)
  })
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await db.query(
      `select ${LISTED_COLUMNS}, referral_slug as "referralSlug", email_sealed
       from waitlist_entries where id > $1 order by id limit ${PAGE}`,
      [after],
    )
    for (const { email_sealed: sealed, ...entry } of z.array(SealedEntry).parse(rows)) {
      const email = sealingKeys.open(sealed, emailEncryptionContext(entry.id)).toString('utf8')
      yield { ...entry, email }
      after = entry.id
    }
    if (rows.length < PAGE) return
  }
}

/** Deletes the entry of a mailbox and its links, and records that. @returns the id of the entry; undefined when there is none */
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
    await recordStaffAct(tx, { actor, action: 'waitlist forget', about: rows[0].id }, now)
    return rows[0].id
  })
