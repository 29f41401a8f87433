import { err, ok, ReferralSlug, type Result, RULES } from '@plainpath/domain'
import {
  buildInsertMailSql,
  buildMayStoreMailSql,
  createTooManyMailsProblem,
  type MailContent,
  type MailHandler,
  type MailNotifier,
  type MailQueue,
} from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import type { LogErasure } from '../erasure-log.ts'
import type { StoredLink } from '../link-secret.ts'
import { eraseEntries } from './erase-entries.ts'

/** The entry of a person who joins, with the mail to that person. */
export interface NewWaitlistEntry {
  /** A UUID. */
  readonly id: string
  /** The address as the person typed it. Mail goes to this spelling. */
  readonly email: string
  /** The canonical address, which is the same for all spellings of the mailbox. */
  readonly canonicalEmail: string
  readonly referralSlug: ReferralSlug
  /** Ignored unless it is the slug of an entry. */
  readonly referredBySlug?: ReferralSlug
  readonly joinedAt: Date
  /** The links in the mail. */
  readonly confirmLink: StoredLink
  readonly removeLink: StoredLink
  readonly mail: RequestedMail
}

/** A mail and the network that requested it. */
type RequestedMail = MailContent & { readonly requesterNetwork: string }
type JoinedMail = Pick<NewWaitlistEntry, 'canonicalEmail' | 'confirmLink' | 'removeLink' | 'mail'>

/** A request to remove a mailbox, from its owner or from somebody else. */
interface RemovalRequest {
  readonly canonicalEmail: string
  readonly link: StoredLink
  readonly mail: RequestedMail
  readonly requestedAt: Date
}

/** The mail kinds. The `about` of each mail is the id of its link. */
const WAITLIST_MAIL = { joined: 'waitlist-joined', forget: 'waitlist-forget' } as const

/** Returns the encryption context of an entry's address. */
export const getEmailEncryptionContext = (entryId: string): string => `waitlist_entries/${entryId}/email`

/**
 * SQL that stores an entry, its links and its mail. Stores nothing if the mailbox is on the list, or if too many mails wait. The
 * parameters from $10 are those of the mail.
 */
const ADD_ENTRY = `
  with entry as (
    insert into waitlist_entries
      (id, email_sealed, email_hash, email_hash_key, referral_slug, referred_by, joined_at)
    select $1::uuid, $2::bytea, $3::bytea, $4::text, $5::text,
      (select id from waitlist_entries where referral_slug = $6), $7::timestamptz where ${buildMayStoreMailSql({ first: 10 })}
    on conflict on constraint waitlist_entries_email_hash do nothing
    returning email_hash, joined_at),
  links as (
    insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
    select link.id, link.secret_hash, link.purpose, entry.email_hash, entry.joined_at
    from entry, unnest($8::uuid[], $9::bytea[], array['confirm', 'remove']) as link (id, secret_hash, purpose))
  ${buildInsertMailSql({ first: 10, from: 'entry' })}`

/**
 * SQL condition for an entry `e` whose mail was dropped or given up, while no other mail was sent or is queued. It holds for at
 * most 30 days, because mail rows are deleted then.
 */
const IS_UNSENT = `exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('dropped', 'dead'))
  and not exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('queued', 'sent'))`

/** Stores waitlist entries in PostgreSQL. Addresses are encrypted, and compared by a keyed hash of their canonical form. */
export interface WaitlistStore {
  /**
   * Adds an entry and its mail. Of simultaneous entries for one mailbox, exactly one is added.
   *
   * @throws {Problem} 429 when too many mails wait
   */
  add(entry: NewWaitlistEntry): Promise<Result<void, 'already-joined'>>
  /** Returns the slug of an entry whose mail was dropped or given up; undefined if there is no such entry. */
  findSlugOfUnsentMail(canonicalEmail: string): Promise<ReferralSlug | undefined>
  /**
   * Queues an entry's mail again, with new links. Does nothing if the mail was queued or sent in the meantime.
   *
   * @throws {Problem} 429 when too many mails wait
   */
  requeueMail(mail: JoinedMail, now: Date): Promise<void>
  /**
   * Stores a removal link and its mail for any mailbox. The mail is sent only if the mailbox is on the list.
   *
   * @throws {Problem} 429 when too many mails wait
   */
  requestRemoval(request: RemovalRequest): Promise<void>
  /** Confirms the entry of a link. Returns true even if it was confirmed before; false if no entry has the link any more. */
  confirm(secretHash: Buffer, now: Date): Promise<boolean>
  /**
   * Deletes the entry of a link, with all links and undelivered mails of its mailbox. Returns false for an unknown link, a requested
   * link after its 7 days, or an unlisted mailbox.
   */
  remove(secretHash: Buffer, now: Date): Promise<boolean>
  /** Restarts the lifetime of a removal link at `now`, because its mail is sent late. */
  renewForgetLink(linkId: string, now: Date): Promise<void>
  /** Returns whether the mailbox of a link is on the list. */
  hasEntryForLink(linkId: string): Promise<boolean>
  /** Deletes up to 1,000 removal links that are at least 7 days old, and returns the number of deleted links. */
  eraseOldLinks(now: Date): Promise<number>
}

export function createWaitlistStore(deps: {
  db: Pool
  sealer: Sealer
  hashKey: HashKey
  mails: MailQueue
  mailNotifier: Pick<MailNotifier, 'notifyMailers'>
  logErasure: LogErasure
}): WaitlistStore {
  const { db, sealer, hashKey, mails, mailNotifier, logErasure } = deps
  const hashMailbox = (canonicalEmail: string) => hashKey.hash('email-index/waitlist', canonicalEmail)
  const isOnList = async (hash: Buffer) =>
    (await db.query('select from waitlist_entries where email_hash = $1', [hash])).rowCount === 1
  return {
    async add(entry) {
      const about = entry.confirmLink.id
      const mail = mails.seal({ kind: WAITLIST_MAIL.joined, about, ...entry.mail }, entry.joinedAt)
      const values = [
        entry.id,
        sealer.seal(entry.email, getEmailEncryptionContext(entry.id)),
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
        throw createTooManyMailsProblem()
      }
      mailNotifier.notifyMailers()
      return ok(undefined)
    },

    async findSlugOfUnsentMail(canonicalEmail) {
      const { rows } = await db.query<{ slug: string }>(
        `select referral_slug as slug from waitlist_entries e where email_hash = $1 and ${IS_UNSENT}`,
        [hashMailbox(canonicalEmail)],
      )
      return rows[0] && ReferralSlug.parse(rows[0].slug)
    },

    requeueMail: ({ canonicalEmail, confirmLink, removeLink, mail }, now) =>
      db.transaction(async (tx) => {
        const hash = hashMailbox(canonicalEmail)
        // Simultaneous requests for the mailbox wait here, so that only one of them queues a mail.
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

    requestRemoval: ({ canonicalEmail, link, mail, requestedAt }) =>
      db.transaction(async (tx) => {
        await tx.query(
          `insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
           values ($1, $2, 'forget', $3, $4)`,
          [link.id, link.secretHash, hashMailbox(canonicalEmail), requestedAt],
        )
        // A person is known to wait for this mail, so it may use the reserve (docs/mail.md).
        const forgetMail = { kind: WAITLIST_MAIL.forget, about: link.id, isRequestedByPerson: true, ...mail }
        await mails.add(tx, forgetMail, requestedAt)
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

    async remove(secretHash, now) {
      const condition = `email_hash = (select email_hash from waitlist_links
        where secret_hash = $1 and (purpose = 'remove' or purpose = 'forget' and created_at > $2))`
      const values = [secretHash, new Date(now.getTime() - RULES.forgetLinkMs)]
      const ids = await db.transaction((tx) => eraseEntries(tx, { condition, values }, now))
      for (const id of ids) logErasure('entry', id)
      return ids.length === 1
    },

    async renewForgetLink(linkId, now) {
      await db.query(`update waitlist_links set created_at = $2 where id = $1 and purpose = 'forget'`, [
        linkId,
        now,
      ])
    },

    async hasEntryForLink(linkId) {
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
  }
}

/** Creates the handlers of waitlist mails. A mail is dropped if its mailbox is not on the list. */
export function createWaitlistMailHandlers(waitlist: WaitlistStore): Record<string, MailHandler> {
  const isWanted = (linkId: string) => waitlist.hasEntryForLink(linkId)
  const renew = (linkId: string, now: Date) => waitlist.renewForgetLink(linkId, now)
  return { [WAITLIST_MAIL.joined]: { isWanted }, [WAITLIST_MAIL.forget]: { isWanted, renew } }
}
