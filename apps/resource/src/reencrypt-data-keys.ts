import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { messageEncryptionContext } from './contact/contact-message.ts'
import { emailEncryptionContext } from './waitlist/waitlist-store.ts'

/**
 * Re-encrypts the data keys of stored addresses and messages under the newest key-encryption key. Waiting mails stay as they
 * are: they are sent within days.
 *
 * @returns how many values were under an older key @throws {SealError} for a value that cannot be decrypted
 */
export async function reencryptDataKeys(db: Database, keys: SealingKeys, options: { trial: boolean }) {
  const reencryptColumn = (table: string, column: string, context: (id: string) => string) => {
    const rewrite = (sealed: Buffer, id: string) => keys.reseal(sealed, context(id))
    return rewriteColumn(db, { table, column, key: 'id', rewrite }, options)
  }
  const addresses = await reencryptColumn('waitlist_entries', 'email_sealed', emailEncryptionContext)
  const texts = await reencryptColumn('contact_messages', 'message_sealed', (id) =>
    messageEncryptionContext(id, 'message'),
  )
  const replies = await reencryptColumn('contact_messages', 'reply_sealed', (id) =>
    messageEncryptionContext(id, 'reply'),
  )
  const handOffs = await reencryptColumn('contact_messages', 'hand_off_sealed', (id) =>
    messageEncryptionContext(id, 'hand-off'),
  )
  const domains = await reencryptColumn('contact_messages', 'agent_domain_sealed', (id) =>
    messageEncryptionContext(id, 'agent-domain'),
  )
  return {
    /** Of the waitlist. */
    addresses,
    /** Texts, addresses, triggers and domains of agents. */
    messages: texts + replies + handOffs + domains,
  }
}
