import type { Log } from '@plainpath/http'
import { eraseMails } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { ERASE_CONTENT } from './contact/contact-message.ts'
import { recordStaffAct } from './staff-audit.ts'

/** What was erased: a waitlist entry, or a message to staff. */
type ErasedKind = 'entry' | 'message'
export type LogErasure = (kind: ErasedKind, id: string) => void

/**
 * Creates a function that logs an erasure, with the random id of the row. The id identifies nobody after the erasure. A database
 * that is restored from a backup contains the row again. The log is not part of the backup, so `resource restore` and `resource replay`
 * read it and erase such rows.
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

const ERASE_STATEMENTS = {
  entries: `
    with deleted as (delete from waitlist_entries where id = any ($1) returning id, email_hash),
    links as (delete from waitlist_links where email_hash in (select email_hash from deleted))
    select id from deleted`,
  messages: `
    update contact_messages set ${ERASE_CONTENT}, erased_at = now()
    where id = any ($1) and state <> 'erased' returning id`,
}

/**
 * Erases the rows that a restore brought back, with the mails of the messages, in one transaction. Records this in the audit log.
 *
 * @returns the numbers of entries and messages that still had to be erased
 */
export const replayErasures = (
  db: Pool,
  erasures: Erasures,
  audit: { readonly actor: string; readonly now: Date },
): Promise<{ entries: number; messages: number }> =>
  db.transaction(async (tx) => {
    const { length: entries } = await eraseInBatches(tx, ERASE_STATEMENTS.entries, erasures.entries)
    const messageIds = await eraseInBatches(tx, ERASE_STATEMENTS.messages, erasures.messages)
    // These mails contain the text of the message. One that no server accepted would keep it for days.
    for (const id of messageIds) await eraseMails(tx, id, audit.now)
    const { length: messages } = messageIds
    const about = `${entries} entries, ${messages} messages`
    await recordStaffAct(tx, { actor: audit.actor, action: 'replay', about }, audit.now)
    return { entries, messages }
  })

/**
 * Erases the whole waitlist, the content of all messages, and all mails with a content: those that are queued, and those that were given
 * up. Records this in the audit log. Use it after a restore if there is no log of the erasures since the backup.
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
      `update contact_messages set ${ERASE_CONTENT}, erased_at = now() where state <> 'erased'`,
    )
    await tx.query('delete from mails where mail_sealed is not null')
    const about = `${entryCount} entries, ${messageCount} messages`
    await recordStaffAct(tx, { actor: audit.actor, action: 'erase everything', about }, audit.now)
    return { entries: entryCount, messages: messageCount }
  })

const BATCH_SIZE = 1_000

/** Returns the ids of the rows that still had to be erased. */
async function eraseInBatches(
  tx: Database,
  statement: string,
  ids: ReadonlySet<string>,
): Promise<readonly string[]> {
  const allIds = [...ids]
  const erasedIds: string[] = []
  for (let start = 0; start < allIds.length; start += BATCH_SIZE) {
    const { rows } = await tx.query<{ id: string }>(statement, [allIds.slice(start, start + BATCH_SIZE)])
    for (const { id } of rows) erasedIds.push(id)
  }
  return erasedIds
}
