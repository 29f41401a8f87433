import { err, ok, RULES } from '@plainpath/domain'
import { insertMail, type MailQueue, type MailTeller } from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { emailPlace } from './email-place.ts'
import { waitlistStatistics } from './waitlist-statistics.ts'
import { WAITLIST_MAIL, type WaitlistStore } from './waitlist-store.ts'

/** The entry, both of its links and its mail, or no row where the address is known. */
const ADD_ENTRY = `
  with entry as (
    insert into waitlist_entries
      (id, email_sealed, email_hash, email_hash_key, referral_slug, referred_by, joined_at)
    values ($1, $2, $3, $4, $5, (select id from waitlist_entries where referral_slug = $6), $7)
    on conflict on constraint waitlist_entries_email_hash do nothing
    returning email_hash, joined_at),
  links as (
    insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
    select link.id, link.secret_hash, link.purpose, entry.email_hash, entry.joined_at
    from entry, unnest($8::uuid[], $9::bytea[], array['confirm', 'remove']) as link (id, secret_hash, purpose))
  ${insertMail({ first: 10, from: 'entry' })}`

/** Addresses are sealed for their row; they compare by a keyed hash of their canonical form. */
export function postgresWaitlistStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  mailTeller: Pick<MailTeller, 'tell'>
  /** Told the id of each entry that its person took off. */
  onErased: (id: string) => void
}): WaitlistStore {
  const { db, sealingKeys, hashKey, mails, mailTeller, onErased } = deps
  const hashOf = (canonicalEmail: string) => hashKey.hash('email-index/waitlist', canonicalEmail)
  return {
    async add(entry) {
      const about = entry.confirmLink.id
      const mail = mails.seal({ kind: WAITLIST_MAIL.joined, about, ...entry.mail }, entry.joinedAt)
      const values = [
        entry.id,
        sealingKeys.seal(entry.email, emailPlace(entry.id)),
        hashOf(entry.canonicalEmail),
        hashKey.id,
        entry.referralSlug,
        entry.referredBySlug ?? null,
        entry.joinedAt,
        [entry.confirmLink.id, entry.removeLink.id],
        [entry.confirmLink.secretHash, entry.removeLink.secretHash],
        ...mail.values,
      ]
      const { rowCount } = await db.query(ADD_ENTRY, values, 'add-waitlist-entry')
      if (rowCount === 0) return err('already-joined')
      mailTeller.tell()
      return ok(undefined)
    },

    askToForget: ({ canonicalEmail, link, mail, askedAt }) =>
      db.transaction(async (tx) => {
        await tx.query(
          `insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
           values ($1, $2, 'forget', $3, $4)`,
          [link.id, link.secretHash, hashOf(canonicalEmail), askedAt],
        )
        await mails.add(tx, { kind: WAITLIST_MAIL.forget, about: link.id, ...mail }, askedAt)
      }),

    async confirm(secretHash, now) {
      const { rowCount } = await db.query(
        `update waitlist_entries e set confirmed_at = coalesce(e.confirmed_at, $2)
         from waitlist_links l
         where l.secret_hash = $1 and l.purpose = 'confirm' and l.email_hash = e.email_hash`,
        [secretHash, now],
      )
      return rowCount === 1
    },

    async remove(secretHash) {
      const { rows } = await db.query<{ id: string }>(
        `with gone as (
           delete from waitlist_entries e using waitlist_links l
           where l.secret_hash = $1 and l.purpose in ('remove', 'forget') and l.email_hash = e.email_hash
           returning e.id, e.email_hash
         ), links as (delete from waitlist_links where email_hash in (select email_hash from gone))
         select id from gone`,
        [secretHash],
      )
      for (const { id } of rows) onErased(id)
      return rows.length === 1
    },

    async linkIsWanted(linkId) {
      const { rowCount } = await db.query(
        'select from waitlist_links join waitlist_entries using (email_hash) where waitlist_links.id = $1',
        [linkId],
      )
      return rowCount === 1
    },

    async eraseOldLinks(now) {
      const { rowCount } = await db.query(
        `delete from waitlist_links where id in
           (select id from waitlist_links where purpose = 'forget' and created_at <= $1 limit 1000)`,
        [new Date(now.getTime() - RULES.forgetLinkMs)],
      )
      return rowCount ?? 0
    },

    statistics: () => waitlistStatistics(db),
  }
}
