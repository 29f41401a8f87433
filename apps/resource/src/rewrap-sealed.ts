import { type Database, rewriteColumn } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { messagePlace } from './contact/contact-message.ts'
import { emailPlace } from './waitlist/waitlist-store.ts'

/**
 * Seals what the API keeps under the newest key-encryption key; mails that wait are left to go as they are.
 *
 * @returns how many values were under another one @throws {SealError} for a value that cannot be opened
 */
export async function rewrapSealed(db: Database, keys: SealingKeys, options: { trial: boolean }) {
  const rewrap = (table: string, column: string, placeOf: (id: string) => string) => {
    const rewrite = (sealed: Buffer, id: string) => keys.reseal(sealed, placeOf(id))
    return rewriteColumn(db, { table, column, key: 'id', rewrite }, options)
  }
  const addresses = await rewrap('waitlist_entries', 'email_sealed', emailPlace)
  const texts = await rewrap('contact_messages', 'message_sealed', (id) => messagePlace(id, 'message'))
  const replies = await rewrap('contact_messages', 'reply_sealed', (id) => messagePlace(id, 'reply'))
  const handOffs = await rewrap('contact_messages', 'hand_off_sealed', (id) => messagePlace(id, 'hand-off'))
  return {
    /** Of the waitlist. */
    addresses,
    /** Texts, addresses and triggers. */
    messages: texts + replies + handOffs,
  }
}
