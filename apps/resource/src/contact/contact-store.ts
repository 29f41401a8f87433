import type { ContactStatus, ContactTopic, Result } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import type { Database } from '@plainpath/postgres'
import type { StoredLink } from '../link-secret.ts'

export interface NewMessage {
  /** A UUID. */
  readonly id: string
  readonly topic: ContactTopic
  readonly text: string
  readonly guideSlug: string | null
  /** Where answers go: an address that the person was shown to have, or will be. */
  readonly replyTo: string
  readonly createdAt: Date
}

/** A message from an agent. */
export interface AgentMessage extends NewMessage {
  readonly registrationId: string
  /** The same key with the same request is the same message, for 24 hours. */
  readonly idempotency?: { readonly key: string; readonly request: string }
  readonly receipt: MailContent
}

/** A message as the desk and the command line read it. */
export interface OpenedMessage extends NewMessage {
  readonly state: ContactStatus | 'unconfirmed'
}

export interface ListedMessage {
  readonly id: string
  readonly topic: ContactTopic
  readonly state: string
  readonly createdAt: Date
  readonly deliveredAt: Date | null
}

export interface ContactStore {
  /**
   * Keeps a message with its mails to the desk and to the person.
   *
   * @returns the id, of the earlier message where the key was used with the same request
   */
  receive(message: AgentMessage): Promise<Result<{ id: string }, 'in-progress' | 'other-request'>>
  /** Keeps a message from the page, with the mail whose link sends it. */
  keepUnconfirmed(message: NewMessage, link: StoredLink, mail: MailContent): Promise<void>
  /** @returns false for a link that sends nothing any more */
  confirm(linkHash: Buffer, now: Date): Promise<boolean>
  find(id: string, registrationId: string): Promise<ContactStatus | undefined>
  /** Erasing what is erased already is fine. */
  takeBack(id: string, registrationId: string, now: Date): Promise<Result<void, 'not-found' | 'delivered'>>
  isIn(id: string, states: readonly string[]): Promise<boolean>
  /** In the transaction that settles the mail to the desk. */
  markDelivered(tx: Database, id: string, now: Date): Promise<void>
  /** Unconfirmed after 24 hours, all 90 days after delivery, idempotency keys after 24 hours. @returns how many rows it changed */
  eraseOld(now: Date): Promise<number>
}

/** The kinds of mail; each is about its message's id. */
export const CONTACT_MAIL = {
  desk: 'contact-desk',
  receipt: 'contact-receipt',
  confirm: 'contact-confirm',
} as const
