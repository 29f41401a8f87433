import type { ReferralSlug, Result } from '@plainpath/domain'

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
}

export interface WaitlistStatistics {
  readonly entries: number
  readonly referred: number
}

export interface WaitlistStore {
  /** Of any number of simultaneous entries for one mailbox exactly one is added. */
  add(entry: NewWaitlistEntry): Promise<Result<void, 'already-joined'>>
  statistics(): Promise<WaitlistStatistics>
}
