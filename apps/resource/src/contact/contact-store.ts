import { ContactStatus, canonicalizeEmail, err, ok, type Result, RULES } from '@plainpath/domain'
import type { MailContent, MailQueue } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import type { ConfirmedAgent } from '../auth/introspection.ts'
import type { LogErasure } from '../erasure-log.ts'
import { createLink, type StoredLink } from '../link-secret.ts'
import { CONTACT_MAIL, composeReceiptMail, composeStaffMail, type Writer } from './contact-mails.ts'
import {
  decryptMessage,
  ERASE_CONTENT,
  encryptMessage,
  findHoldEnd,
  type NewMessage,
} from './contact-message.ts'
import {
  findByIdempotencyKey,
  findDuplicate,
  hashContent,
  hashIdempotencyKey,
  type IdempotencyRefusal,
  type ReceivedMessage,
} from './earlier-message.ts'
import {
  type Withdrawal,
  type WithdrawRefusal,
  type WithdrawTarget,
  withdrawMessage,
} from './withdraw-message.ts'

/** A message from an agent. */
interface AgentMessage extends NewMessage {
  readonly agent: ConfirmedAgent | undefined
  readonly registrationId: string
  /** For 24 hours, a second request with this key and the same content returns the first message. */
  readonly idempotencyKey?: string | undefined
}

interface Duplicate {
  /** The id of the earlier message. */
  readonly duplicateOf: string
}

const BATCH_SIZE = 1000

/** SQL for the start of a confirmation link's lifetime. */
const LINK_STARTED_AT = 'coalesce(link_renewed_at, created_at)'

const MessageStatus = z.object({ status: ContactStatus, heldUntil: z.date() })
const LinkedMessage = z.object({ id: z.uuid(), status: ContactStatus, mayBeDelivered: z.boolean() })

/**
 * Stores messages to staff in PostgreSQL, with their mails. Texts, addresses, triggers and domains of agents are encrypted.
 * Repeated requests and repeated contents are recognised by keyed hashes. Idempotency keys are stored only as such hashes.
 */
export interface ContactStore {
  /**
   * Stores a message with its mails to staff and to the person. Only a message without a key is refused as a duplicate.
   *
   * @returns the stored message, or the earlier message for which the key was used with the same content
   */
  receive(message: AgentMessage): Promise<Result<ReceivedMessage, IdempotencyRefusal | Duplicate>>
  /**
   * Stores a message from the contact form, with the mail whose link confirms it.
   *
   * @throws {Problem} 429 when too many mails wait
   */
  storeUnconfirmed(
    message: NewMessage,
    link: StoredLink,
    mail: MailContent & { requesterNetwork: string },
  ): Promise<void>
  /**
   * Restarts the lifetime of the confirmation link at `now`, because its mail is sent late. However, the lifetime starts at the
   * latest a day after the message was created.
   */
  renewLink(id: string, now: Date): Promise<void>
  /** Confirms a message from the contact form. Its hold begins at `now`. */
  confirm(linkHash: Buffer, now: Date): Promise<Result<ReceivedMessage, 'not-found' | Duplicate>>
  /** Finds the status of a registration's message. */
  findStatus(id: string, registrationId: string): Promise<z.infer<typeof MessageStatus> | undefined>
  /** Finds the message that a withdrawal link belongs to. If it was erased, `mayBeDelivered` is that of `Withdrawal`. */
  findByWithdrawLink(linkHash: Buffer): Promise<z.infer<typeof LinkedMessage> | undefined>
  /** Erases an undelivered message and its mails. Succeeds for a message that is already withdrawn. */
  withdraw(target: WithdrawTarget, now: Date): Promise<Result<Withdrawal, WithdrawRefusal>>
  /** Returns whether a message has one of these states. */
  hasState(id: string, states: readonly string[]): Promise<boolean>
  /** Marks a message as delivered, in the transaction that settles the staff mail. */
  markDelivered(tx: Database, id: string, now: Date): Promise<void>
  /** Erases a batch of data that is past its retention. Returns the number of changed rows. */
  eraseOld(now: Date): Promise<number>
}

export function createContactStore(deps: {
  db: Pool
  sealer: Sealer
  hashKey: HashKey
  mails: MailQueue
  urls: ServiceUrls
  /** The mailbox of staff. */
  staffInbox: string
  /** The time, in milliseconds, for which a message is held before it is sent to staff. Until then, it can be withdrawn. */
  holdMs: number
  logErasure: LogErasure
}): ContactStore {
  const { db, sealer, hashKey, mails, urls, staffInbox, holdMs, logErasure } = deps

  /** Queues the receipt, and the staff mail for the end of the hold. Returns the columns to store with the message. */
  async function addMails(tx: Database, message: NewMessage, writer: Writer, receivedAt: Date) {
    const heldUntil = findHoldEnd(receivedAt, message.triggers, holdMs)
    const { secret, stored } = createLink()
    const about = message.id
    const receipt = composeReceiptMail(urls, { ...message, receivedAt, heldUntil, secret, writer })
    const staffMail = composeStaffMail(staffInbox, message, writer)
    await mails.add(tx, { kind: CONTACT_MAIL.receipt, about, ...receipt }, receivedAt)
    await mails.add(tx, { kind: CONTACT_MAIL.staff, about, ...staffMail }, receivedAt, heldUntil)
    return { state: 'received', held_until: heldUntil, withdraw_hash: stored.secretHash }
  }

  return {
    receive: (message) =>
      db.transaction(async (tx) => {
        const { id, registrationId, createdAt, agent, idempotencyKey: key } = message
        const keyColumns = key === undefined ? undefined : hashIdempotencyKey(hashKey, { ...message, key })
        const contentHash = hashContent(hashKey, { registrationId }, message)
        const earlierResult = keyColumns && (await findByIdempotencyKey(tx, keyColumns, createdAt))
        if (earlierResult) return earlierResult
        const duplicateId = keyColumns ? undefined : await findDuplicate(tx, contentHash, createdAt)
        if (duplicateId !== undefined) return err({ duplicateOf: duplicateId })
        const mailColumns = await addMails(tx, message, { agent }, createdAt)
        const extraColumns = {
          registration_id: registrationId,
          content_hash: contentHash,
          ...keyColumns,
          ...mailColumns,
        }
        await insertMessage(tx, sealer, message, extraColumns)
        return ok({ id, heldUntil: mailColumns.held_until })
      }),

    storeUnconfirmed: (message, link, mail) =>
      db.transaction(async (tx) => {
        const author = { address: canonicalizeEmail(message.replyTo) ?? message.replyTo }
        const contentHash = hashContent(hashKey, author, message)
        const extraColumns = { state: 'unconfirmed', link_hash: link.secretHash, content_hash: contentHash }
        await insertMessage(tx, sealer, message, extraColumns)
        const confirmMail = {
          kind: CONTACT_MAIL.confirm,
          about: message.id,
          isRequestedByPerson: true,
          ...mail,
        }
        await mails.add(tx, confirmMail, message.createdAt)
      }),

    async renewLink(id, now) {
      await db.query(
        `update contact_messages set link_renewed_at = least($2, created_at + make_interval(secs => $3))
         where id = $1 and state = 'unconfirmed'`,
        [id, now, RULES.unconfirmedMessageMs / 1000],
      )
    },

    confirm: (linkHash, now) =>
      db.transaction(async (tx) => {
        const { rows } = await tx.query<{ content_hash: Buffer | null }>(
          `select * from contact_messages where link_hash = $1 and ${LINK_STARTED_AT} > $2 for update`,
          [linkHash, new Date(now.getTime() - RULES.unconfirmedMessageMs)],
        )
        if (!rows[0]) return err('not-found')
        const message = decryptMessage(sealer, rows[0])
        const contentHash = rows[0].content_hash
        const duplicateId = contentHash && (await findDuplicate(tx, contentHash, now))
        if (duplicateId) return err({ duplicateOf: duplicateId })
        const mailColumns = await addMails(tx, message, 'person', now)
        await tx.query(
          'update contact_messages set state = $2, held_until = $3, withdraw_hash = $4, link_hash = null where id = $1',
          [message.id, mailColumns.state, mailColumns.held_until, mailColumns.withdraw_hash],
        )
        return ok({ id: message.id, heldUntil: mailColumns.held_until })
      }),

    async findStatus(id, registrationId) {
      // Messages from a release without holds have no `held_until`.
      const { rows } = await db.query(
        `select state as status, coalesce(held_until, created_at) as "heldUntil"
         from contact_messages where id = $1 and registration_id = $2`,
        [id, registrationId],
      )
      return rows[0] && MessageStatus.parse(rows[0])
    },

    async findByWithdrawLink(linkHash) {
      const { rows } = await db.query(
        `select id, state as status, delivered_at is not null as "mayBeDelivered"
         from contact_messages where withdraw_hash = $1`,
        [linkHash],
      )
      return rows[0] && LinkedMessage.parse(rows[0])
    },

    async withdraw(target, now) {
      const withdrawal = await db.transaction((tx) =>
        withdrawMessage(tx, { mails, sealer, urls }, target, now),
      )
      if (withdrawal.ok) logErasure('message', withdrawal.value.id)
      return withdrawal
    },

    async hasState(id, states) {
      const { rowCount } = await db.query('select from contact_messages where id = $1 and state = any ($2)', [
        id,
        states,
      ])
      return rowCount === 1
    },

    async markDelivered(tx, id, now) {
      await tx.query(
        `update contact_messages set state = 'delivered', delivered_at = $2 where id = $1 and state = 'received'`,
        [id, now],
      )
    },

    eraseOld: (now) => eraseOldMessages(db, now),
  }
}

/**
 * Inserts an encrypted message.
 *
 * @param extraColumns columns that depend on how the message was sent
 */
async function insertMessage(
  tx: Database,
  sealer: Sealer,
  message: NewMessage,
  extraColumns: Readonly<Record<string, unknown>>,
): Promise<void> {
  const row = {
    id: message.id,
    topic: message.topic,
    guide_slug: message.guideSlug,
    created_at: message.createdAt,
    ...encryptMessage(sealer, message),
    ...extraColumns,
  }
  const columns = Object.keys(row)
  const placeholders = columns.map((_column, index) => `$${index + 1}`)
  await tx.query(
    `insert into contact_messages (${columns.join(', ')}) values (${placeholders.join(', ')})`,
    Object.values(row),
  )
}

/**
 * Erases a batch of data that is past its retention: unconfirmed messages whose link has expired, idempotency keys and content
 * hashes after 24 hours, and the content of other messages 90 days after delivery. A message that was never delivered is erased
 * 90 days after it was created. The withdrawal link of a withdrawn message is erased 90 days after the withdrawal.
 *
 * @returns the number of changed rows
 */
async function eraseOldMessages(db: Database, now: Date): Promise<number> {
  const timeAgo = (ms: number) => new Date(now.getTime() - ms)
  const selectBatch = (condition: string) =>
    `(select id from contact_messages where ${condition} limit ${BATCH_SIZE})`
  const results = [
    await db.query(
      `delete from contact_messages where id in ${selectBatch(`state = 'unconfirmed' and created_at <= $1 and ${LINK_STARTED_AT} <= $1`)}`,
      [timeAgo(RULES.unconfirmedMessageMs)],
    ),
    await db.query(
      `update contact_messages set idempotency_hash = null, request_hash = null
       where id in ${selectBatch('idempotency_hash is not null and created_at <= $1')}`,
      [timeAgo(RULES.idempotencyMs)],
    ),
    await db.query(
      `update contact_messages set content_hash = null
       where id in ${selectBatch('content_hash is not null and created_at <= $1')}`,
      [timeAgo(RULES.duplicateMessageMs)],
    ),
    // By now, the mail to staff has been tried, and its row is erased. Staff may have the message, so a later withdrawal must not
    // promise anything else.
    await db.query(
      `update contact_messages set ${ERASE_CONTENT}, erased_at = $2, delivered_at = coalesce(delivered_at, $2)
       where id in ${selectBatch(`state in ('received', 'delivered') and coalesce(delivered_at, created_at) <= $1`)}`,
      [timeAgo(RULES.deliveredMessageMs), now],
    ),
    // When an instance of the previous release erases a message, it leaves the columns that it does not know. This statement
    // erases them. It also erases the hash of the withdrawal link, which a withdrawn message keeps for 90 days.
    await db.query(
      `update contact_messages set ${ERASE_CONTENT}
       where id in ${selectBatch(`state = 'erased' and (num_nonnulls(hand_off_sealed, agent_domain_sealed, note_sealed, content_hash) > 0 or withdraw_hash is not null and erased_at <= $1)`)}`,
      [timeAgo(RULES.deliveredMessageMs)],
    ),
  ]
  return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}
