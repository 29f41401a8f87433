import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { WaitlistStatistics } from './waitlist-store.ts'

const Row = z.object({ entries: z.int().min(0), referred: z.int().min(0) })

/** Numbers only: it needs no key. */
export async function waitlistStatistics(db: Database): Promise<WaitlistStatistics> {
  const { rows } = await db.query(
    'select count(*) as entries, count(referred_by) as referred from waitlist_entries',
  )
  return Row.parse(rows[0])
}
