import { ContactStatus, err, ok, type Result, RULES } from '@plainpath/domain'
import { eraseMails, type MailContent, type MailHandler, type MailQueue } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { TellErased } from '../erasure-log.ts'
import type { StoredLink } from '../link-secret.ts'
import { deskMail } from './contact-mails.ts'
import { type NewMessage, openMessage, sealMessage } from './contact-message.ts'

/** A message from an agent. */
interface AgentMessage extends NewMessage {
  readonly registrationId: string
  /** The same key with the same request is the same message, for 24 hours. */
  readonly idempotency?: { readonly key: string; readonly request: string }
  readonly receipt: MailContent
}

/** The kinds of mail; each is about its message's id. */
const CONTACT_MAIL = {
  desk: 'contact-desk',
  receipt: 'contact-receipt',
  confirm: 'contact-confirm',
} as const

const ERASED_AT_ONCE = 1000

const Status = z.object({ state: ContactStatus })

/** Texts and addresses are sealed for their row; keys of idempotency are hashes. */
export function contactStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  /** Where the people who answer read. */
  deskAddress: string
  tellErased: TellErased
}) {
  const { db, sealingKeys, hashKey, mails, deskAddress, tellErased } = deps
  const toDesk = async (tx: Database, message: NewMessage, now: Date, writtenBy: 'agent' | 'person') => {
    const mail = deskMail(deskAddress, message, writtenBy)
    await mails.add(tx, { kind: CONTACT_MAIL.desk, about: message.id, ...mail }, now)
  }
  return {
    /**
     * Keeps a message with its mails to the desk and to the person.
     *
     * @returns the id, of the earlier message where the key was used with the same request
     */
    receive: (message: AgentMessage): Promise<Result<{ id: string }, 'in-progress' | 'other-request'>> =>
      db.transaction(async (tx) => {
        const idempotency = idempotencyOf(hashKey, message)
        const earlier = idempotency && (await earlierMessage(tx, idempotency, message.createdAt))
        if (earlier) return earlier
        const { id, registrationId, createdAt } = message
        const more = { registration_id: registrationId, state: 'received', ...idempotency }
        await insertMessage(tx, sealingKeys, message, more)
        await toDesk(tx, message, createdAt, 'agent')
        await mails.add(tx, { kind: CONTACT_MAIL.receipt, about: id, ...message.receipt }, createdAt)
        return ok({ id })
      }),

    /** Keeps a message from the page, with the mail whose link sends it. */
    keepUnconfirmed: (message: NewMessage, link: StoredLink, mail: MailContent): Promise<void> =>
      db.transaction(async (tx) => {
        const more = { state: 'unconfirmed', link_hash: link.secretHash }
        await insertMessage(tx, sealingKeys, message, more)
        await mails.add(tx, { kind: CONTACT_MAIL.confirm, about: message.id, ...mail }, message.createdAt)
      }),

    /** @returns false for a link that sends nothing any more */
    confirm: (linkHash: Buffer, now: Date): Promise<boolean> =>
      db.transaction(async (tx) => {
        const { rows } = await tx.query(
          `update contact_messages set state = 'received', link_hash = null
           where link_hash = $1 and created_at > $2 returning *`,
          [linkHash, new Date(now.getTime() - RULES.unconfirmedMessageMs)],
        )
        if (!rows[0]) return false
        await toDesk(tx, openMessage(sealingKeys, rows[0]), now, 'person')
        return true
      }),

    async find(id: string, registrationId: string): Promise<ContactStatus | undefined> {
      const { rows } = await db.query(
        'select state from contact_messages where id = $1 and registration_id = $2',
        [id, registrationId],
      )
      return rows[0] && Status.parse(rows[0]).state
    },

    /** Erasing what is erased already is fine. */
    async takeBack(
      id: string,
      registrationId: string,
      now: Date,
    ): Promise<Result<void, 'not-found' | 'delivered'>> {
      const state = await db.transaction((tx) => takeBackIn(tx, { id, registrationId, now }))
      if (state === undefined) return err('not-found')
      if (state === 'delivered') return err('delivered')
      tellErased('message', id)
      return ok(undefined)
    },

    async isIn(id: string, states: readonly string[]): Promise<boolean> {
      const { rowCount } = await db.query('select from contact_messages where id = $1 and state = any ($2)', [
        id,
        states,
      ])
      return rowCount === 1
    },

    /** In the transaction that settles the mail to the desk. */
    async markDelivered(tx: Database, id: string, now: Date): Promise<void> {
      await tx.query(
        `update contact_messages set state = 'delivered', delivered_at = $2 where id = $1 and state = 'received'`,
        [id, now],
      )
    },

    /** Unconfirmed after 24 hours, all 90 days after delivery, idempotency keys after 24 hours. @returns how many rows it changed */
    eraseOld: (now: Date): Promise<number> => eraseOldMessages(db, now),
  }
}

export type ContactStore = ReturnType<typeof contactStore>

/**
 * Erases what was not delivered, its mails first: who delivers one locks them in that order, too.
 *
 * @returns what it is now; undefined for one that is not there
 */
async function takeBackIn(
  tx: Database,
  { id, registrationId, now }: { id: string; registrationId: string; now: Date },
): Promise<ContactStatus | undefined> {
  const known = await tx.query('select state from contact_messages where id = $1 and registration_id = $2', [
    id,
    registrationId,
  ])
  if (!known.rows[0]) return undefined
  if (Status.parse(known.rows[0]).state !== 'delivered') await eraseMails(tx, id, now)
  const { rows } = await tx.query(
    `update contact_messages set
       state = case when state = 'delivered' then state else 'erased' end,
       message_sealed = case when state = 'delivered' then message_sealed end,
       reply_sealed = case when state = 'delivered' then reply_sealed end,
       erased_at = case when state <> 'delivered' then coalesce(erased_at, $3) end
     where id = $1 and registration_id = $2 returning state`,
    [id, registrationId, now],
  )
  return Status.parse(rows[0]).state
}

interface Idempotency {
  readonly idempotency_hash: Buffer
  readonly request_hash: Buffer
}

/** @param more columns beside those of every message */
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

const idempotencyOf = (hashKey: HashKey, message: AgentMessage): Idempotency | undefined =>
  message.idempotency && {
    idempotency_hash: hashKey.hash(
      'idempotency/contact',
      `${message.registrationId}\n${message.idempotency.key}`,
    ),
    request_hash: hashKey.hash('idempotency-request/contact', message.idempotency.request),
  }

const IdempotentMessage = z.object({ id: z.uuid(), request_hash: z.instanceof(Buffer) })

/**
 * Holds an idempotency key until the transaction ends.
 *
 * @returns the message that the key was used for in the last 24 hours, or why there is none to take; undefined for a
 *   key that was not used
 */
async function earlierMessage(
  tx: Database,
  { idempotency_hash: hash, request_hash: request }: Idempotency,
  now: Date,
): Promise<Result<{ id: string }, 'in-progress' | 'other-request'> | undefined> {
  const { rows: locks } = await tx.query<{ held: boolean }>(
    'select pg_try_advisory_xact_lock($1::bigint) as held',
    [hash.readBigInt64BE().toString()],
  )
  if (locks[0]?.held !== true) return err('in-progress')
  await tx.query(
    `update contact_messages set idempotency_hash = null, request_hash = null
     where idempotency_hash = $1 and created_at <= $2`,
    [hash, new Date(now.getTime() - RULES.idempotencyMs)],
  )
  const { rows } = await tx.query(
    'select id, request_hash from contact_messages where idempotency_hash = $1',
    [hash],
  )
  if (!rows[0]) return undefined
  const earlier = IdempotentMessage.parse(rows[0])
  return earlier.request_hash.equals(request) ? ok({ id: earlier.id }) : err('other-request')
}

/** A message that never reached the desk goes 90 days after it came. @returns how many rows were changed */
async function eraseOldMessages(db: Database, now: Date): Promise<number> {
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const unconfirmed = await db.query(
    `delete from contact_messages where id in
       (select id from contact_messages where state = 'unconfirmed' and created_at <= $1 limit ${ERASED_AT_ONCE})`,
    [ago(RULES.unconfirmedMessageMs)],
  )
  const keys = await db.query(
    `update contact_messages set idempotency_hash = null, request_hash = null where id in
       (select id from contact_messages where idempotency_hash is not null and created_at <= $1 limit ${ERASED_AT_ONCE})`,
    [ago(RULES.idempotencyMs)],
  )
  const old = await db.query(
    `update contact_messages set state = 'erased', erased_at = $2, message_sealed = null, reply_sealed = null where id in
       (select id from contact_messages
        where state in ('received', 'delivered') and coalesce(delivered_at, created_at) <= $1 limit ${ERASED_AT_ONCE})`,
    [ago(RULES.deliveredMessageMs), now],
  )
  return [unconfirmed, keys, old].reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}

/** What was taken back is not sent; what the desk's mail server took is delivered. */
export const contactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  [CONTACT_MAIL.desk]: {
    capped: false,
    wanted: (id) => contact.isIn(id, ['received']),
    settled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // Over every cap, as the mail that ends a claim: strangers could use the caps up, and an agent then write unseen.
  [CONTACT_MAIL.receipt]: { capped: false, wanted: (id) => contact.isIn(id, ['received', 'delivered']) },
  [CONTACT_MAIL.confirm]: { wanted: (id) => contact.isIn(id, ['unconfirmed']) },
})
