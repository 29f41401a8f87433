import type { Log } from '@plainpath/http'
import { eraseMails } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { ERASE_CONTENT } from './contact/contact-message.ts'
import { recordStaffAct } from './staff-audit.ts'
import { eraseEntries } from './waitlist/erase-entries.ts'

/** The kind of an erased row: a waitlist entry, or a message to staff. */
type ErasedKind = 'entry' | 'message'
export type LogErasure = (kind: ErasedKind, id: string) => void

/**
 * Creates a function that logs an erasure, with the random id of the row. The id identifies nobody after the erasure. A database
 * that is restored from a backup contains the row again. The log is not part of the backup, so `resource restore` and
 * `resource replay` read it and erase such rows.
 *
 * @param operator the user who runs the command; absent in the server
 */
export const createErasureLogger =
  (log: Log, operator?: { readonly user: string; readonly host: string }): LogErasure =>
  (kind, id) =>
    log.info('security event', {
      event: `${kind}-erased`,
      [`${kind}_id`]: id,
      ...(operator && { by: 'operator', ...operator }),
    })

const SecurityEvent = z.object({ msg: z.literal('security event') })
const Erasure = z.discriminatedUnion('event', [
  SecurityEvent.extend({ event: z.literal('entry-erased'), entry_id: z.uuid() }),
  SecurityEvent.extend({ event: z.literal('message-erased'), message_id: z.uuid() }),
])

/** The ids of erased rows. */
interface Erasures {
  readonly entries: ReadonlySet<string>
  readonly messages: ReadonlySet<string>
}

/** Finds the erasures among the lines of a log. */
export async function readErasures(lines: AsyncIterable<object>): Promise<Erasures> {
  const entries = new Set<string>()
  const messages = new Set<string>()
  for await (const line of lines) {
    const { data } = Erasure.safeParse(line)
    if (data?.event === 'entry-erased') entries.add(data.entry_id)
    if (data?.event === 'message-erased') messages.add(data.message_id)
  }
  return { entries, messages }
}

/** After a restore, nobody knows whether a message was mailed to staff since the backup. */
const MAY_BE_DELIVERED = `delivered_at = case when state = 'received' then now() else delivered_at end`

async function eraseMessages(tx: Database, ids: readonly string[], now: Date): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `update contact_messages set ${ERASE_CONTENT}, erased_at = now(), ${MAY_BE_DELIVERED}
     where id = any ($1) and state <> 'erased' returning id`,
    [ids],
  )
  const erasedIds = rows.map(({ id }) => id)
  await eraseMails(tx, erasedIds, now)
  return erasedIds
}

/**
 * Erases the rows that a restore brought back, with their undelivered mails, in one transaction. Records this in the audit log.
 *
 * @returns the numbers of entries and messages that still had to be erased
 */
export const replayErasures = (
  db: Pool,
  erasures: Erasures,
  audit: { readonly actor: string; readonly now: Date },
): Promise<{ entries: number; messages: number }> =>
  db.transaction(async (tx) => {
    const entryCount = await eraseInBatches(erasures.entries, (ids) =>
      eraseEntries(tx, { condition: 'id = any ($1)', values: [ids] }, audit.now),
    )
    const messageCount = await eraseInBatches(erasures.messages, (ids) => eraseMessages(tx, ids, audit.now))
    const about = `${entryCount} entries, ${messageCount} messages`
    await recordStaffAct(tx, { actor: audit.actor, action: 'replay', about }, audit.now)
    return { entries: entryCount, messages: messageCount }
  })

/**
 * Erases the whole waitlist, the content of all messages, all queued mails, and the contents of dead mails. Records this in the
 * audit log. Use it after a restore if there is no log of the erasures since the backup.
 *
 * @returns the numbers of erased entries and messages
 */
export const eraseEverything = (
  db: Pool,
  audit: { readonly actor: string; readonly now: Date },
): Promise<{ entries: number; messages: number }> =>
  db.transaction(async (tx) => {
    await tx.query('delete from waitlist_links')
    const { rowCount: entryCount } = await tx.query('delete from waitlist_entries')
    const { rowCount: messageCount } = await tx.query(
      `update contact_messages set ${ERASE_CONTENT}, erased_at = now(), ${MAY_BE_DELIVERED} where state <> 'erased'`,
    )
    await tx.query(`delete from mails where state = 'queued'`)
    await tx.query('update mails set mail_sealed = null where mail_sealed is not null')
    const about = `${entryCount} entries, ${messageCount} messages`
    await recordStaffAct(tx, { actor: audit.actor, action: 'erase everything', about }, audit.now)
    return { entries: entryCount, messages: messageCount }
  })

const BATCH_SIZE = 1_000

async function eraseInBatches(
  ids: ReadonlySet<string>,
  eraseBatch: (ids: readonly string[]) => Promise<readonly string[]>,
): Promise<number> {
  const allIds = [...ids]
  let erasedCount = 0
  for (let start = 0; start < allIds.length; start += BATCH_SIZE)
    erasedCount += (await eraseBatch(allIds.slice(start, start + BATCH_SIZE))).length
  return erasedCount
}
