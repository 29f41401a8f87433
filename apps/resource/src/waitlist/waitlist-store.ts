import { err, ok, ReferralSlug, type Result, RULES } from '@plainpath/domain'
import {
  insertMail,
  type MailContent,
  type MailHandler,
  type MailQueue,
  type MailTeller,
  mayWait,
  tooManyMailsWaiting,
} from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import type { TellErased } from '../erasure-log.ts'
import type { StoredLink } from '../link-secret.ts'

/** Somebody who asks to join. */
export interface NewWaitlistEntry {
  /** A UUID. */
  readonly id: string
  /** As typed: mail goes to this spelling. */
  readonly email: string
  /** The form under which two spellings of one mailbox are equal. */
  readonly canonicalEmail: string
  readonly referralSlug: ReferralSlug
  /** Kept only when it is the slug of an entry. */
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

/** Somebody who asks to be forgotten, or for whom somebody asks. */
interface ForgetRequest {
  readonly canonicalEmail: string
  readonly link: StoredLink
  readonly mail: RequestedMail
  readonly askedAt: Date
}

/** The kinds of mail; each is about its link's id. */
const WAITLIST_MAIL = { joined: 'waitlist-joined', forget: 'waitlist-forget' } as const

/** What the address of an entry is sealed for. @param id of the entry */
export const emailPlace = (id: string): string => `waitlist_entries/${id}/email`

/** The entry, both of its links and its mail, or no row where the address is known or too many mails wait. */
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

/** SQL condition: the mail of an entry was dropped or given up, and no other was sent or is queued. Rows of mails go after 30 days. */
const IS_UNSENT = `exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('dropped', 'dead'))
  and not exists (select from waitlist_links l join mails m on m.about = l.id::text
    where l.email_hash = e.email_hash and l.purpose = 'confirm' and m.state in ('queued', 'sent'))`

/** Addresses are sealed for their row; they compare by a keyed hash of their canonical form. */
export function waitlistStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  mailTeller: Pick<MailTeller, 'tell'>
  tellErased: TellErased
}) {
  const { db, sealingKeys, hashKey, mails, mailTeller, tellErased } = deps
  const hashOf = (canonicalEmail: string) => hashKey.hash('email-index/waitlist', canonicalEmail)
  const isOnList = async (hash: Buffer) =>
    (await db.query('select from waitlist_entries where email_hash = $1', [hash])).rowCount === 1
  return {
    /**
     * Of any number of simultaneous entries for one mailbox exactly one is added, and its mail kept.
     *
     * @throws {Problem} 429 when too many mails wait
     */
    async add(entry: NewWaitlistEntry): Promise<Result<void, 'already-joined'>> {
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
      if (rowCount === 0) {
        if (await isOnList(hashOf(entry.canonicalEmail))) return err('already-joined')
        throw tooManyMailsWaiting()
      }
      mailTeller.tell()
      return ok(undefined)
    },

    /** @returns the slug of an entry whose mail was dropped or given up before it was sent */
    async findUnsent(canonicalEmail: string): Promise<ReferralSlug | undefined> {
      const { rows } = await db.query<{ slug: string }>(
        `select referral_slug as slug from waitlist_entries e where email_hash = $1 and ${IS_UNSENT}`,
        [hashOf(canonicalEmail)],
      )
      return rows[0] && ReferralSlug.parse(rows[0].slug)
    },

    /** Queues the mail of an entry again, with new links, unless it was queued again or sent meanwhile. */
    addMailAgain: ({ canonicalEmail, confirmLink, removeLink, mail }: JoinedMail, now: Date): Promise<void> =>
      db.transaction(async (tx) => {
        const hash = hashOf(canonicalEmail)
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

    /** Keeps link and mail, whether or not the mailbox is on the list: the mail goes out only if it is. */
    askToForget: ({ canonicalEmail, link, mail, askedAt }: ForgetRequest): Promise<void> =>
      db.transaction(async (tx) => {
        await tx.query(
          `insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
           values ($1, $2, 'forget', $3, $4)`,
          [link.id, link.secretHash, hashOf(canonicalEmail), askedAt],
        )
        const forget = { kind: WAITLIST_MAIL.forget, about: link.id, askedFor: true, ...mail }
        await mails.add(tx, forget, askedAt)
      }),

    /** @returns false for a link that confirms nothing, or nothing any more; true also when it was confirmed before */
    async confirm(secretHash: Buffer, now: Date): Promise<boolean> {
      const { rowCount } = await db.query(
        `update waitlist_entries e set confirmed_at = coalesce(e.confirmed_at, $2)
         from waitlist_links l
         where l.secret_hash = $1 and l.purpose = 'confirm' and l.email_hash = e.email_hash`,
        [secretHash, now],
      )
      return rowCount === 1
    },

    /** Takes out the entry and all links of its mailbox. @returns false for a link that removes nothing any more */
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
      for (const { id } of rows) tellErased('entry', id)
      return rows.length === 1
    },

    /** Lets a link to leave work from `now` for its full time, because its mail goes out late. */
    async renewForgetLink(linkId: string, now: Date): Promise<void> {
      await db.query(`update waitlist_links set created_at = $2 where id = $1 and purpose = 'forget'`, [
        linkId,
        now,
      ])
    },

    /** Whether a mail with this link is still of use. */
    async linkIsWanted(linkId: string): Promise<boolean> {
      const { rowCount } = await db.query(
        'select from waitlist_links join waitlist_entries using (email_hash) where waitlist_links.id = $1',
        [linkId],
      )
      return rowCount === 1
    },

    /** Erases links of requests to be forgotten that are 7 days old, so many at a time. @returns how many */
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

/** Mails of the waitlist go out while their link is of use: not to who left, nor to who was never there. */
export function waitlistMailHandlers(waitlist: WaitlistStore): Record<string, MailHandler> {
  const wanted = (linkId: string) => waitlist.linkIsWanted(linkId)
  const renew = (linkId: string, now: Date) => waitlist.renewForgetLink(linkId, now)
  return { [WAITLIST_MAIL.joined]: { wanted }, [WAITLIST_MAIL.forget]: { wanted, renew } }
}
