import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { WaitlistStatistics } from './waitlist-store.ts'

const count = z.int().min(0)
const Row = z.object({ entries: count, confirmed: count, referred: count, credited: count })

/** Numbers only: it needs no key. */
export async function waitlistStatistics(db: Database): Promise<WaitlistStatistics> {
  const { rows } = await db.query(
    `select count(*) as entries, count(confirmed_at) as confirmed, count(referred_by) as referred,
       count(*) filter (where referred_by is not null and confirmed_at is not null) as credited
     from waitlist_entries`,
  )
  return Row.parse(rows[0])
}
