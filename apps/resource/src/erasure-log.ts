import type { Log } from '@plainpath/http'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { ERASE_CONTENT } from './contact/contact-message.ts'
import { recordStaffAct } from './staff-audit.ts'

/** A waitlist entry or a message to staff. */
type Erased = 'entry' | 'message'
export type LogErasure = (what: Erased, id: string) => void

/**
 * Creates a function that logs an erasure under the random id of the row, which identifies nobody once the row is gone. The
 * log is not part of a database backup: after a restore, `resource replay` reads it and erases the rows again.
 *
 * @param operator the user who runs a command; absent in the server
 */
export const createErasureLog =
  (log: Log, operator?: { readonly user: string; readonly host: string }): LogErasure =>
  (what, id) =>
    log.info('security event', {
      event: `${what}-erased`,
      [`${what}_id`]: id,
      ...(operator && { by: 'operator', ...operator }),
    })

const SecurityEvent = z.object({ msg: z.literal('security event') })
const Erasure = z.discriminatedUnion('event', [
  SecurityEvent.extend({ event: z.literal('entry-erased'), entry_id: z.uuid() }),
  SecurityEvent.extend({ event: z.literal('message-erased'), message_id: z.uuid() }),
])

/** Ids of rows that were erased. */
interface Erasures {
  readonly entries: ReadonlySet<string>
  readonly messages: ReadonlySet<string>
}

/** Reads from the lines of a log which rows were erased. Ignores all other lines. */
export async function readErasures(lines: AsyncIterable<object>): Promise<Erasures> {
  const entries = new Set<string>()
  const messages = new Set<string>()
  for await (const each of lines) {
    const { data } = Erasure.safeParse(each)
    if (data?.event === 'entry-erased') entries.add(data.entry_id)
    if (data?.event === 'message-erased') messages.add(data.message_id)
  }
  return { entries, messages }
}

const ERASE = {
  entries: `
    with gone as (delete from waitlist_entries where id = any ($1) returning id, email_hash),
    links as (delete from waitlist_links where email_hash in (select email_hash from gone))
    select id from gone`,
  messages: `
    update contact_messages set ${ERASE_CONTENT}, erased_at = now()
    where id = any ($1) and state <> 'erased' returning id`,
}

/** Erases rows that a restore brought back, in one transaction, and records it in the audit. @returns how many rows it erased */
export const replayErasures = (
  db: Pool,
  erasures: Erasures,
  by: { readonly actor: string; readonly now: Date },
): Promise<{ entries: number; messages: number }> =>
  db.transaction(async (tx) => {
    const entries = await erase(tx, ERASE.entries, erasures.entries)
    const messages = await erase(tx, ERASE.messages, erasures.messages)
    const about = `${entries} entries, ${messages} messages`
    await recordStaffAct(tx, { actor: by.actor, action: 'replay', about }, by.now)
    return { entries, messages }
  })

const AT_ONCE = 1_000

async function erase(tx: Database, statement: string, ids: ReadonlySet<string>): Promise<number> {
  const all = [...ids]
  let erased = 0
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const { rowCount } = await tx.query(statement, [all.slice(from, from + AT_ONCE)])
    erased += rowCount
  }
  return erased
}
