import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import { recordStaffAct } from '../staff-audit.ts'
import { eraseEntries } from './erase-entries.ts'
import { getEmailEncryptionContext } from './waitlist-store.ts'

const Count = z.int().min(0)
const Statistics = z.object({
  entries: Count,
  confirmed: Count,
  referred: Count,
  /** Referred entries that were confirmed. Only these are credited to the person who referred them. */
  credited: Count,
})

/** Counts all entries. Decrypts nothing, so it needs no key. */
export async function countEntries(db: Database): Promise<z.infer<typeof Statistics>> {
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

const Week = z.object({ week: z.string(), joined: Count, confirmed: Count })
const Referrer = z.object({ referrer: z.uuid(), referred: Count, credited: Count })
const STATISTICS_WEEKS = 12
const STATISTICS_REFERRERS = 10

/**
 * Counts the entries that joined in each of the last 12 weeks, including this week, oldest first. Weeks begin on Monday (UTC).
 * `confirmed` counts those of them that were confirmed at any time.
 */
export async function countEntriesByWeek(db: Database, now: Date): Promise<z.infer<typeof Week>[]> {
  const { rows } = await db.query(
    `select to_char(week, 'YYYY-MM-DD') as week, count(id) as joined, count(confirmed_at) as confirmed
     from generate_series(
       date_trunc('week', $1::timestamptz at time zone 'UTC') - ($2 - 1) * interval '1 week',
       date_trunc('week', $1::timestamptz at time zone 'UTC'), interval '1 week') as week
     left join waitlist_entries on date_trunc('week', joined_at at time zone 'UTC') = week
     group by week order by week`,
    [now, STATISTICS_WEEKS],
  )
  return z.array(Week).parse(rows)
}

/** Lists the ten entries that referred the most other entries. */
export async function listReferrers(db: Database): Promise<z.infer<typeof Referrer>[]> {
  const { rows } = await db.query(
    `select referred_by as referrer, count(*) as referred, count(confirmed_at) as credited
     from waitlist_entries where referred_by is not null
     group by referred_by order by referred desc, referred_by limit $1`,
    [STATISTICS_REFERRERS],
  )
  return z.array(Referrer).parse(rows)
}

/** Lists the newest entries, without addresses. */
export async function listEntries(db: Database, limit: number): Promise<ListedEntry[]> {
  const { rows } = await db.query(
    `select ${LISTED_COLUMNS} from waitlist_entries order by joined_at desc, id limit $1`,
    [limit],
  )
  return z.array(ListedEntryRow).parse(rows)
}

const SealedEntry = ListedEntryRow.extend({ referralSlug: z.string(), email_sealed: z.instanceof(Buffer) })
/** The number of entries that are read at a time. */
const PAGE_SIZE = 500

/**
 * Yields every entry with its address, ordered by id. First records the export in the audit log. An entry that joins during the
 * export may be missing, because ids are random.
 *
 * @throws {UnsealError} for an address that cannot be decrypted
 */
export async function* exportEntries(
  db: Pool,
  { sealer, actor, now }: { sealer: Sealer; actor: string; now: Date },
) {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ entries: number }>('select count(*) as entries from waitlist_entries')
    const about = `${rows[0]?.entries ?? 0} entries`
    await recordStaffAct(tx, { actor, action: 'waitlist export', about }, now)
  })
  // Sorts before the id of every entry.
  let lastId = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await db.query(
      `select ${LISTED_COLUMNS}, referral_slug as "referralSlug", email_sealed
       from waitlist_entries where id > $1 order by id limit ${PAGE_SIZE}`,
      [lastId],
    )
    for (const { email_sealed: sealed, ...entry } of z.array(SealedEntry).parse(rows)) {
      const email = sealer.unseal(sealed, getEmailEncryptionContext(entry.id)).toString('utf8')
      yield { ...entry, email }
      lastId = entry.id
    }
    if (rows.length < PAGE_SIZE) return
  }
}

/**
 * Deletes the entry, the links and the undelivered mails of a mailbox. Records this in the audit log. Returns the id of the entry;
 * undefined without an entry.
 */
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
    // The context must be that of `hashMailbox` in the waitlist store.
    const values = [hashKey.hash('email-index/waitlist', canonicalEmail)]
    const [id] = await eraseEntries(tx, { condition: 'email_hash = $1', values }, now)
    if (id === undefined) return undefined
    await recordStaffAct(tx, { actor, action: 'waitlist forget', about: id }, now)
    return id
  })
