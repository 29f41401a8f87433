import { eraseMails } from '@plainpath/mail'
import type { Database } from '@plainpath/postgres'

/**
 * Deletes waitlist entries with all links of their mailboxes, and erases the mails that were not delivered, because they contain the
 * addresses.
 *
 * @param tx a transaction
 * @param condition SQL for the entries, with parameters from `values`
 * @returns the ids of the deleted entries
 */
export async function eraseEntries(
  tx: Database,
  { condition, values }: { readonly condition: string; readonly values: readonly unknown[] },
  now: Date,
): Promise<string[]> {
  const { rows: entries } = await tx.query<{ id: string; emailHash: Buffer }>(
    `delete from waitlist_entries where ${condition} returning id, email_hash as "emailHash"`,
    values,
  )
  if (entries.length === 0) return []
  // A separate statement, which sees links that were stored while the first one waited for the entry.
  const { rows: links } = await tx.query<{ id: string }>(
    'delete from waitlist_links where email_hash = any ($1) returning id',
    [entries.map(({ emailHash }) => emailHash)],
  )
  await eraseMails(
    tx,
    links.map(({ id }) => id),
    now,
  )
  return entries.map(({ id }) => id)
}
