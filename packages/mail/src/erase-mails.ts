import type { Database } from '@plainpath/postgres'
import { DEAD_CONTENT_MS } from './mail-upkeep.ts'
import { DAY_MS } from './times.ts'

/**
 * Drops every mail about something that was not sent, and erases what it says, also of one that was given up. What a worker
 * hands to the mail server at this moment goes out.
 *
 * @param tx in which the thing itself is erased
 */
export async function eraseMails(tx: Database, about: string, now: Date): Promise<void> {
  await tx.query(
    `update mails set mail_sealed = null, leased_until = null,
       state = case when state = 'queued' then 'dropped' else state end, settled_at = coalesce(settled_at, $2)
     where about = $1 and (state = 'queued' or (state = 'dead' and mail_sealed is not null and settled_at > $3))`,
    [about, now, new Date(now.getTime() - DEAD_CONTENT_MS - DAY_MS)],
  )
}
