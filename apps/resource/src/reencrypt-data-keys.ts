import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { getMessageContext } from './contact/contact-message.ts'
import { getEmailEncryptionContext } from './waitlist/waitlist-store.ts'

/**
 * Re-encrypts the data keys of stored addresses and messages under the newest key-encryption key. Does not touch queued mails,
 * which are sent within days.
 *
 * @param options.dryRun if true, only counts the values
 * @returns the numbers of values that were under an older key
 * @throws {UnsealError} for a value that cannot be decrypted
 */
export async function reencryptDataKeys(db: Database, sealer: Sealer, options: { dryRun: boolean }) {
  const reencryptColumn = (table: string, column: string, getContext: (id: string) => string) => {
    const rewrite = (sealed: Buffer, id: string) => sealer.reseal(sealed, getContext(id))
    return rewriteColumn(db, { table, column, keyColumn: 'id', rewrite }, options)
  }
  const addresses = await reencryptColumn('waitlist_entries', 'email_sealed', getEmailEncryptionContext)
  const texts = await reencryptColumn('contact_messages', 'message_sealed', (id) =>
    getMessageContext(id, 'message'),
  )
  const replies = await reencryptColumn('contact_messages', 'reply_sealed', (id) =>
    getMessageContext(id, 'reply'),
  )
  const handOffs = await reencryptColumn('contact_messages', 'hand_off_sealed', (id) =>
    getMessageContext(id, 'hand-off'),
  )
  const domains = await reencryptColumn('contact_messages', 'agent_domain_sealed', (id) =>
    getMessageContext(id, 'agent-domain'),
  )
  const notes = await reencryptColumn('contact_messages', 'note_sealed', (id) =>
    getMessageContext(id, 'note'),
  )
  return {
    /** The number of waitlist addresses. */
    addresses,
    /** The number of message values: texts, addresses, triggers, agents' domains and staff notes. */
    messages: texts + replies + handOffs + domains + notes,
  }
}
