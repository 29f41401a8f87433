import { ContactStatus, canonicalEmail, err, ok, type Result, RULES } from '@plainpath/domain'
import type { MailContent, MailHandler, MailQueue } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { ConfirmedAgent } from '../auth/introspection.ts'
import type { LogErasure } from '../erasure-log.ts'
import { newLink, type StoredLink } from '../link-secret.ts'
import { CONTACT_MAIL, receiptMail, staffMail, type Writer } from './contact-mails.ts'
import { ERASE_CONTENT, holdEnd, type NewMessage, openMessage, sealMessage } from './contact-message.ts'
import {
  contentHash,
  findByKey,
  findDuplicate,
  idempotencyColumns,
  type KeyRefusal,
  type ReceivedMessage,
} from './earlier-message.ts'
import { type Withdrawn, type WithdrawRefusal, withdrawMessage } from './withdraw-message.ts'

/** A message from an agent. */
interface AgentMessage extends NewMessage {
  readonly agent: ConfirmedAgent | undefined
  readonly registrationId: string
  /** The same key with the same content is the same message, for 24 hours. */
  readonly idempotencyKey?: string | undefined
}

interface Duplicate {
  readonly duplicateOf: string
}

const ERASED_AT_ONCE = 1000

/** SQL: when the lifetime of the link of an unconfirmed message began. */
const LINK_STARTED_AT = 'coalesce(link_renewed_at, created_at)'

const State = z.object({ status: ContactStatus, heldUntil: z.date() })

/**
 * Stores messages to staff in PostgreSQL, with their mails. Texts, addresses and triggers are encrypted for their row; of
 * idempotency keys and contents it stores keyed hashes.
 */
export function contactStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  urls: ServiceUrls
  /** The mailbox of staff. */
  staffInbox: string
  /** How long a message is held, and can be withdrawn, before it is delivered to staff. */
  holdMs: number
  logErasure: LogErasure
}) {
  const { db, sealingKeys, hashKey, mails, urls, staffInbox, holdMs, logErasure } = deps

  /** Adds the receipt, and the mail to staff that waits until the hold ends. @returns columns of the message */
  async function addMails(tx: Database, message: NewMessage, written: { by: Writer; at: Date }) {
    const heldUntil = holdEnd(written.at, message.triggers, holdMs)
    const { secret, stored } = newLink()
    const about = message.id
    const receipt = receiptMail(urls, {
      ...message,
      receivedAt: written.at,
      heldUntil,
      secret,
      writer: written.by,
    })
    const mail = staffMail(staffInbox, message, written.by)
    await mails.add(tx, { kind: CONTACT_MAIL.receipt, about, ...receipt }, written.at)
    await mails.add(tx, { kind: CONTACT_MAIL.staff, about, ...mail }, written.at, heldUntil)
    return { state: 'received', held_until: heldUntil, withdraw_hash: stored.secretHash }
  }

  return {
    /**
     * Stores a message with its mails to staff and to the person.
     *
     * @returns the received message; the earlier one if the key was used with the same content
     */
    receive: (message: AgentMessage): Promise<Result<ReceivedMessage, KeyRefusal | Duplicate>> =>
      db.transaction(async (tx) => {
        const { id, registrationId, createdAt, agent, idempotencyKey: key } = message
        const byKey = key === undefined ? undefined : idempotencyColumns(hashKey, { ...message, key })
        const hash = contentHash(hashKey, { registrationId }, message)
        const earlier = byKey && (await findByKey(tx, byKey, createdAt))
        if (earlier) return earlier
        const first = byKey ? undefined : await findDuplicate(tx, hash, createdAt)
        if (first !== undefined) return err({ duplicateOf: first })
        const received = await addMails(tx, message, { by: { agent }, at: createdAt })
        const more = { registration_id: registrationId, content_hash: hash, ...byKey, ...received }
        await insertMessage(tx, sealingKeys, message, more)
        return ok({ id, heldUntil: received.held_until })
      }),

    /**
     * Stores a message from the page, with the mail whose link sends it.
     *
     * @throws {Problem} 429 when too many mails wait
     */
    storeUnconfirmed: (
      message: NewMessage,
      link: StoredLink,
      mail: MailContent & { sender: string },
    ): Promise<void> =>
      db.transaction(async (tx) => {
        const author = { address: canonicalEmail(message.replyTo) ?? message.replyTo }
        const hash = contentHash(hashKey, author, message)
        const more = { state: 'unconfirmed', link_hash: link.secretHash, content_hash: hash }
        await insertMessage(tx, sealingKeys, message, more)
        const confirm = { kind: CONTACT_MAIL.confirm, about: message.id, askedFor: true, ...mail }
        await mails.add(tx, confirm, message.createdAt)
      }),

    /** Restarts the lifetime of the link at `now`, because its mail is sent late; at the latest a day after the message. */
    async renewLink(id: string, now: Date): Promise<void> {
      await db.query(
        `update contact_messages set link_renewed_at = least($2, created_at + make_interval(secs => $3))
         where id = $1 and state = 'unconfirmed'`,
        [id, now, RULES.unconfirmedMessageMs / 1000],
      )
    },

    /** Confirms a message from the page. Its hold begins at `now`. */
    confirm: (linkHash: Buffer, now: Date): Promise<Result<ReceivedMessage, 'not-found' | Duplicate>> =>
      db.transaction(async (tx) => {
        const { rows } = await tx.query<{ content_hash: Buffer | null }>(
          `select * from contact_messages where link_hash = $1 and ${LINK_STARTED_AT} > $2 for update`,
          [linkHash, new Date(now.getTime() - RULES.unconfirmedMessageMs)],
        )
        if (!rows[0]) return err('not-found')
        const message = openMessage(sealingKeys, rows[0])
        const hash = rows[0].content_hash
        const first = hash && (await findDuplicate(tx, hash, now))
        if (first) return err({ duplicateOf: first })
        const received = await addMails(tx, message, { by: 'person', at: now })
        await tx.query(
          'update contact_messages set state = $2, held_until = $3, withdraw_hash = $4, link_hash = null where id = $1',
          [message.id, received.state, received.held_until, received.withdraw_hash],
        )
        return ok({ id: message.id, heldUntil: received.held_until })
      }),

    /** Finds the state of a message of a registration. */
    async find(id: string, registrationId: string): Promise<z.infer<typeof State> | undefined> {
      const { rows } = await db.query(
        `select state as status, coalesce(held_until, created_at) as "heldUntil"
         from contact_messages where id = $1 and registration_id = $2`,
        [id, registrationId],
      )
      return rows[0] && State.parse(rows[0])
    },

    /** Finds the state of the message that a link withdraws; undefined for an unknown link. */
    async findByWithdrawLink(linkHash: Buffer): Promise<ContactStatus | undefined> {
      const { rows } = await db.query<{ state: unknown }>(
        `select state from contact_messages
         where withdraw_hash = $1 and (state <> 'erased' or delivered_at is null)`,
        [linkHash],
      )
      return rows[0] && ContactStatus.parse(rows[0].state)
    },

    /** Erases a message that was not delivered, and its mails. Withdrawing it again succeeds. */
    async withdraw(which: Withdrawn, now: Date): Promise<Result<void, WithdrawRefusal>> {
      const withdrawn = await db.transaction((tx) => withdrawMessage(tx, { mails, sealingKeys }, which, now))
      if (!withdrawn.ok) return withdrawn
      logErasure('message', withdrawn.value)
      return ok(undefined)
    },

    /** Tells whether a message is in one of some states. */
    async hasState(id: string, states: readonly string[]): Promise<boolean> {
      const { rowCount } = await db.query('select from contact_messages where id = $1 and state = any ($2)', [
        id,
        states,
      ])
      return rowCount === 1
    },

    /** Marks a message as delivered, in the transaction that settles the mail to staff. */
    async markDelivered(tx: Database, id: string, now: Date): Promise<void> {
      await tx.query(
        `update contact_messages set state = 'delivered', delivered_at = $2 where id = $1 and state = 'received'`,
        [id, now],
      )
    },

    /**
     * Erases a batch of what is past its retention: unconfirmed messages, idempotency keys and hashes of contents after 24 hours,
     * everything else 90 days after delivery.
     *
     * @returns how many rows it changed
     */
    eraseOld: (now: Date): Promise<number> => eraseOldMessages(db, now),
  }
}

export type ContactStore = ReturnType<typeof contactStore>

/** @param more further columns */
async function insertMessage(
  tx: Database,
  keys: SealingKeys,
  message: NewMessage,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  const row = {
    id: message.id,
    topic: message.topic,
    guide_slug: message.guideSlug,
    created_at: message.createdAt,
    ...sealMessage(keys, message),
    ...more,
  }
  const columns = Object.keys(row)
  const places = columns.map((_column, index) => `$${index + 1}`)
  await tx.query(
    `insert into contact_messages (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  )
}

/** A message that was never delivered is erased 90 days after it was received. @returns how many rows it changed */
async function eraseOldMessages(db: Database, now: Date): Promise<number> {
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const some = (condition: string) =>
    `(select id from contact_messages where ${condition} limit ${ERASED_AT_ONCE})`
  const erased = [
    await db.query(
      `delete from contact_messages where id in ${some(`state = 'unconfirmed' and created_at <= $1 and ${LINK_STARTED_AT} <= $1`)}`,
      [ago(RULES.unconfirmedMessageMs)],
    ),
    await db.query(
      `update contact_messages set idempotency_hash = null, request_hash = null
       where id in ${some('idempotency_hash is not null and created_at <= $1')}`,
      [ago(RULES.idempotencyMs)],
    ),
    await db.query(
      `update contact_messages set content_hash = null
       where id in ${some('content_hash is not null and created_at <= $1')}`,
      [ago(RULES.duplicateMessageMs)],
    ),
    await db.query(
      `update contact_messages set ${ERASE_CONTENT}, erased_at = $2
       where id in ${some(`state in ('received', 'delivered') and coalesce(delivered_at, created_at) <= $1`)}`,
      [ago(RULES.deliveredMessageMs), now],
    ),
    // The previous release may run beside this one, and does not erase columns that it does not know. A withdrawn message keeps
    // the hash of its link until now.
    await db.query(
      `update contact_messages set ${ERASE_CONTENT}
       where id in ${some(`state = 'erased' and (num_nonnulls(hand_off_sealed, agent_domain_sealed, content_hash) > 0 or withdraw_hash is not null and erased_at <= $1)`)}`,
      [ago(RULES.deliveredMessageMs)],
    ),
  ]
  return erased.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}

/** Creates the handlers of mails about messages. Mails of a withdrawn message are dropped; a sent mail to staff marks its message as delivered. */
export const contactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  [CONTACT_MAIL.staff]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received']),
    onSettled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // No cap, as for the mail that revokes access: strangers could use up the caps, and an agent could then write unnoticed.
  [CONTACT_MAIL.receipt]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received', 'delivered']),
  },
  // At most one for each receipt.
  [CONTACT_MAIL.withdrawn]: { capped: false },
  [CONTACT_MAIL.confirm]: {
    isWanted: (id) => contact.hasState(id, ['unconfirmed']),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (id, now) => contact.renewLink(id, now),
  },
})
