import type { ReferralSlug, Result } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
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
  readonly mail: MailContent
}

/** Somebody who asks to be forgotten, or for whom somebody asks. */
interface ForgetRequest {
  readonly canonicalEmail: string
  readonly link: StoredLink
  readonly mail: MailContent
  readonly askedAt: Date
}

export interface WaitlistStatistics {
  readonly entries: number
  readonly confirmed: number
  readonly referred: number
  /** Referred and confirmed: only these count for who referred them. */
  readonly credited: number
}

export interface WaitlistStore {
  /** Of any number of simultaneous entries for one mailbox exactly one is added, and its mail kept. */
  add(entry: NewWaitlistEntry): Promise<Result<void, 'already-joined'>>
  /** Keeps link and mail, whether or not the mailbox is on the list: the mail goes out only if it is. */
  askToForget(request: ForgetRequest): Promise<void>
  /** @returns false for a link that confirms nothing, or nothing any more; true also when it was confirmed before */
  confirm(secretHash: Buffer, now: Date): Promise<boolean>
  /** Takes out the entry and all links of its mailbox. @returns false for a link that removes nothing any more */
  remove(secretHash: Buffer): Promise<boolean>
  /** Whether a mail with this link is still of use. */
  linkIsWanted(linkId: string): Promise<boolean>
  /** Erases links of requests to be forgotten that are 7 days old, so many at a time. @returns how many */
  eraseOldLinks(now: Date): Promise<number>
  statistics(): Promise<WaitlistStatistics>
}

/** The kinds of mail; each is about its link's id. */
export const WAITLIST_MAIL = { joined: 'waitlist-joined', forget: 'waitlist-forget' } as const
