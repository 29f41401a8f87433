import { err, ok, ReferralSlug, type Result, RULES } from '@plainpath/domain'
import {
  insertMail,
  type MailContent,
  type MailHandler,
  type MailNotifier,
  type MailQueue,
  mayWait,
  tooManyMailsWaiting,
} from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import type { LogErasure } from '../erasure-log.ts'
import type { StoredLink } from '../link-secret.ts'

/** A person who joins. */
export interface NewWaitlistEntry {
  /** A UUID. */
  readonly id: string
  /** As typed. Mail is sent to this spelling. */
  readonly email: string
  /** The form in which two spellings of a mailbox are equal. */
  readonly canonicalEmail: string
  readonly referralSlug: ReferralSlug
  /** Stored only if it is the slug of an entry. */
  readonly referredBySlug?: ReferralSlug
  readonly joinedAt: Date
  /** The links in the mail. */
  readonly confirmLink: StoredLink
  readonly removeLink: StoredLink
  readonly mail: RequestedMail
}

/** A mail and the network that requested it. */
type RequestedMail = MailContent & { readonly sender: string }
type JoinedMail = Pick<NewWaitlistEntry, 'canonicalEmail' | 'confirmLink' | 'removeLink' | 'mail'>

/** A request to remove a mailbox, from its owner or from another person. */
interface RemovalRequest {
  readonly canonicalEmail: string
  readonly link: StoredLink
  readonly mail: RequestedMail
  readonly askedAt: Date
}

/** The kinds of mail. `about` of each mail is the id of its link. */
const WAITLIST_MAIL = { joined: 'waitlist-joined', forget: 'waitlist-forget' } as const

/** The encryption context to which the address of an entry is bound. @param id the id of the entry */
export const emailEncryptionContext = (id: string): string => `waitlist_entries/${id}/email`

/** SQL that stores an entry, its two links and its mail; nothing if the mailbox is on the list or too many mails wait. */
const ADD_ENTRY = `
  with entry as (
    insert into waitlist_entries
      (id, email_sealed, email_hash, email_hash_key, referral_slug, referred_by, joined_at)
    select $1::uuid, $2::bytea, $3::bytea, $4::text, $5::text,
      (select id from waitlist_entries where referral_slug = $6), $7::timestamptz where ${mayWait({ first: 10 })}
    on conflict on constraint waitlist_entries_email_hash do nothing
    returning email_hash, joined_at),
  links as (
    insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
    select link.id, link.secret_hash, link.purpose, entry.email_hash, entry.joined_at
    from entry, unnest($8::uuid[], $9::bytea[], array['confirm', 'remove']) as link (id, secret_hash, purpose))
  ${insertMail({ first: 10, from: 'entry' })}`

/** SQL condition: the mail of an entry was dropped or given up, and no other was sent or is queued. Mail rows are deleted after 30 days. */
const IS_UNSENT = `exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('dropped', 'dead'))
  and not exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('queued', 'sent'))`

/** Stores waitlist entries in PostgreSQL. Addresses are encrypted for their row and compared by a keyed hash of their canonical form. */
export function waitlistStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  mailNotifier: Pick<MailNotifier, 'notifyMailers'>
  logErasure: LogErasure
}) {
  const { db, sealingKeys, hashKey, mails, mailNotifier, logErasure } = deps
  const hashMailbox = (canonicalEmail: string) => hashKey.hash('email-index/waitlist', canonicalEmail)
  const isOnList = async (hash: Buffer) =>
    (await db.query('select from waitlist_entries where email_hash = $1', [hash])).rowCount === 1
  return {
    /**
     * Adds an entry and its mail. Of simultaneous entries for one mailbox exactly one is added.
     *
     * @throws {Problem} 429 when too many mails wait
     */
    async add(entry: NewWaitlistEntry): Promise<Result<void, 'already-joined'>> {
      const about = entry.confirmLink.id
      const mail = mails.seal({ kind: WAITLIST_MAIL.joined, about, ...entry.mail }, entry.joinedAt)
      const values = [
        entry.id,
        sealingKeys.seal(entry.email, emailEncryptionContext(entry.id)),
        hashMailbox(entry.canonicalEmail),
        hashKey.id,
        entry.referralSlug,
        entry.referredBySlug ?? null,
        entry.joinedAt,
        [entry.confirmLink.id, entry.removeLink.id],
        [entry.confirmLink.secretHash, entry.removeLink.secretHash],
        ...mail.values,
      ]
      const { rowCount } = await db.query(ADD_ENTRY, values, 'add-waitlist-entry')
      if (rowCount === 0) {
        if (await isOnList(hashMailbox(entry.canonicalEmail))) return err('already-joined')
        throw tooManyMailsWaiting()
      }
      mailNotifier.notifyMailers()
      return ok(undefined)
    },

    /** Returns the slug of an entry whose mail was dropped or given up; undefined if there is no such entry. */
    async findUnsent(canonicalEmail: string): Promise<ReferralSlug | undefined> {
      const { rows } = await db.query<{ slug: string }>(
        `select referral_slug as slug from waitlist_entries e where email_hash = $1 and ${IS_UNSENT}`,
        [hashMailbox(canonicalEmail)],
      )
      return rows[0] && ReferralSlug.parse(rows[0].slug)
    },

    /** Queues the mail of an entry again, with new links. Does nothing if it was queued or sent in the meantime. */
    addMailAgain: ({ canonicalEmail, confirmLink, removeLink, mail }: JoinedMail, now: Date): Promise<void> =>
      db.transaction(async (tx) => {
        const hash = hashMailbox(canonicalEmail)
        await tx.query('select from waitlist_entries where email_hash = $1 for update', [hash])
        const { rowCount } = await tx.query(
          `delete from waitlist_links using waitlist_entries e
           where waitlist_links.email_hash = e.email_hash and e.email_hash = $1 and purpose in ('confirm', 'remove')
             and ${IS_UNSENT}`,
          [hash],
        )
        if (rowCount === 0) return
        await tx.query(
          `insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
           values ($1, $2, 'confirm', $5, $6), ($3, $4, 'remove', $5, $6)`,
          [confirmLink.id, confirmLink.secretHash, removeLink.id, removeLink.secretHash, hash, now],
        )
        await mails.add(tx, { kind: WAITLIST_MAIL.joined, about: confirmLink.id, ...mail }, now)
      }),

    /** Stores a link and its mail, whether or not the mailbox is on the list. The mail is sent only if it is. */
    requestRemoval: ({ canonicalEmail, link, mail, askedAt }: RemovalRequest): Promise<void> =>
      db.transaction(async (tx) => {
        await tx.query(
          `insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
           values ($1, $2, 'forget', $3, $4)`,
          [link.id, link.secretHash, hashMailbox(canonicalEmail), askedAt],
        )
        const forget = { kind: WAITLIST_MAIL.forget, about: link.id, askedFor: true, ...mail }
        await mails.add(tx, forget, askedAt)
      }),

    /** Confirms the entry of a link. @returns false for an unknown or expired link; true also if it was confirmed before */
    async confirm(secretHash: Buffer, now: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update waitlist_entries e set confirmed_at = coalesce(e.confirmed_at, $2)
         from waitlist_links l
         where l.secret_hash = $1 and l.purpose = 'confirm' and l.email_hash = e.email_hash`,
        [secretHash, now],
      )
      return rowCount === 1
    },

    /** Deletes the entry of a link and all links of its mailbox. @returns false for an unknown or used link */
    async remove(secretHash: Buffer): Promise<boolean> {
      const { rows } = await db.query<{ id: string }>(
        `with gone as (
           delete from waitlist_entries e using waitlist_links l
           where l.secret_hash = $1 and l.purpose in ('remove', 'forget') and l.email_hash = e.email_hash
           returning e.id, e.email_hash
         ), links as (delete from waitlist_links where email_hash in (select email_hash from gone))
         select id from gone`,
        [secretHash],
      )
      for (const { id } of rows) logErasure('entry', id)
      return rows.length === 1
    },

    /** Restarts the lifetime of a link for removal at `now`, because its mail is sent late. */
    async renewForgetLink(linkId: string, now: Date): Promise<void> {
      await db.query(`update waitlist_links set created_at = $2 where id = $1 and purpose = 'forget'`, [
        linkId,
        now,
      ])
    },

    /** Tells whether the entry for which a link was made is on the list. */
    async hasEntryForLink(linkId: string): Promise<boolean> {
      const { rowCount } = await db.query(
        'select from waitlist_links join waitlist_entries using (email_hash) where waitlist_links.id = $1',
        [linkId],
      )
      return rowCount === 1
    },

    /** Deletes a batch of links for removal that are 7 days old. @returns how many */
    async eraseOldLinks(now: Date): Promise<number> {
      const { rowCount } = await db.query(
        `delete from waitlist_links where id in
           (select id from waitlist_links where purpose = 'forget' and created_at <= $1 limit 1000)`,
        [new Date(now.getTime() - RULES.forgetLinkMs)],
      )
      return rowCount ?? 0
    },
  }
}

export type WaitlistStore = ReturnType<typeof waitlistStore>

/** Creates the handlers of waitlist mails. A mail is dropped if its mailbox is no longer on the list, or never was. */
export function waitlistMailHandlers(waitlist: WaitlistStore): Record<string, MailHandler> {
  const isWanted = (linkId: string) => waitlist.hasEntryForLink(linkId)
  const renew = (linkId: string, now: Date) => waitlist.renewForgetLink(linkId, now)
  return { [WAITLIST_MAIL.joined]: { isWanted }, [WAITLIST_MAIL.forget]: { isWanted, renew } }
}
