import { ContactStatus, err, ok, RULES } from '@plainpath/domain'
import { eraseMails, type MailQueue } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { deskMail } from './contact-mails.ts'
import { CONTACT_MAIL, type ContactStore, type NewMessage } from './contact-store.ts'
import { eraseOldMessages } from './erase-old-messages.ts'
import { idempotencyOf, insertMessage, takeIdempotencyKey } from './insert-message.ts'
import { openMessage } from './sealed-message.ts'

const Status = z.object({ state: ContactStatus })

/** Texts and addresses are sealed for their row; keys of idempotency are hashes. */
export function postgresContactStore(deps: {
  db: Pool
  sealingKeys: SealingKeys
  hashKey: HashKey
  mails: MailQueue
  /** Where the people who answer read. */
  deskAddress: string
  /** Told the id of each message that whoever sent it took back. */
  onErased: (id: string) => void
}): ContactStore {
  const { db, sealingKeys, hashKey, mails, deskAddress } = deps
  const toDesk = async (tx: Database, message: NewMessage, now: Date, writtenBy: 'agent' | 'person') => {
    const mail = deskMail(deskAddress, message, writtenBy)
    await mails.add(tx, { kind: CONTACT_MAIL.desk, about: message.id, ...mail }, now)
  }
  return {
    receive: (message) =>
      db.transaction(async (tx) => {
        const idempotency = idempotencyOf(hashKey, message)
        if (idempotency) {
          const hash = idempotency.idempotency_hash
          const before = await takeIdempotencyKey(tx, hash, message.createdAt)
          if (before === 'in-progress') return err('in-progress')
          const same = before?.request_hash.equals(idempotency.request_hash)
          if (before) return same ? ok({ id: before.id }) : err('other-request')
        }
        const { id, registrationId, createdAt } = message
        const more = { registration_id: registrationId, state: 'received', ...idempotency }
        await insertMessage(tx, sealingKeys, message, more)
        await toDesk(tx, message, createdAt, 'agent')
        await mails.add(tx, { kind: CONTACT_MAIL.receipt, about: id, ...message.receipt }, createdAt)
        return ok({ id })
      }),

    keepUnconfirmed: (message, link, mail) =>
      db.transaction(async (tx) => {
        const more = { state: 'unconfirmed', link_hash: link.secretHash }
        await insertMessage(tx, sealingKeys, message, more)
        await mails.add(tx, { kind: CONTACT_MAIL.confirm, about: message.id, ...mail }, message.createdAt)
      }),

    confirm: (linkHash, now) =>
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

    ...storedStates(db, deps.onErased),
    eraseOld: (now) => eraseOldMessages(db, now),
  }
}

/** What is asked and changed of messages that are kept. */
function storedStates(
  db: Pool,
  onErased: (id: string) => void,
): Pick<ContactStore, 'find' | 'takeBack' | 'isIn' | 'markDelivered'> {
  return {
    async find(id, registrationId) {
      const { rows } = await db.query(
        'select state from contact_messages where id = $1 and registration_id = $2',
        [id, registrationId],
      )
      return rows[0] && Status.parse(rows[0]).state
    },

    async takeBack(id, registrationId, now) {
      const state = await db.transaction((tx) => takeBackIn(tx, { id, registrationId, now }))
      if (state === undefined) return err('not-found')
      if (state === 'delivered') return err('delivered')
      onErased(id)
      return ok(undefined)
    },

    async isIn(id, states) {
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
  }
}

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
