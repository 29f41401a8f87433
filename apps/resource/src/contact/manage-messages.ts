import {
  ContactTopic,
  findHighestUrgency,
  formatCount,
  MINUTE_MS,
  URGENCIES,
  type Urgency,
} from '@plainpath/domain'
import { eraseMails, readDeliveryState } from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import { recordStaffAct } from '../staff-audit.ts'
import { CONTACT_MAIL } from './contact-mails.ts'
import {
  type DecryptedMessage,
  decryptMessage,
  decryptTriggers,
  describeStaffState,
  ERASE_CONTENT,
  getMessageContext,
} from './contact-message.ts'

const ListedMessageRow = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  state: z.string(),
  createdAt: z.date(),
  deliveredAt: z.date().nullable(),
  owner: z.string().nullable(),
  answeredAt: z.date().nullable(),
  closedAt: z.date().nullable(),
  sealedTriggers: z.instanceof(Buffer).nullable(),
})
export interface ListedMessage extends Omit<z.infer<typeof ListedMessageRow>, 'sealedTriggers'> {
  /** The state that staff see, which is more detailed than the state in the public API. */
  readonly staffState: string
  /** The whole minutes since the message was created. */
  readonly ageMinutes: number
  /** The hand-off triggers, the most urgent first. */
  readonly triggers: readonly string[]
  readonly urgency: Urgency | null
}

/**
 * Lists the newest `limit` messages, sorted by urgency and then newest first, without their texts and reply addresses. An older
 * urgent message can be missing. If triggers were decrypted, the audit log records this.
 *
 * @throws {UnsealError} for triggers that cannot be decrypted
 */
export const listMessages = (
  db: Pool,
  { sealer, limit, actor, now }: { sealer: Sealer; limit: number; actor: string; now: Date },
): Promise<ListedMessage[]> =>
  db.transaction(async (tx) => {
    const { rows } = await tx.query(
      `select id, topic, state, created_at as "createdAt", delivered_at as "deliveredAt", owner,
         answered_at as "answeredAt", closed_at as "closedAt", hand_off_sealed as "sealedTriggers"
       from contact_messages order by created_at desc, id limit $1`,
      [limit],
    )
    const messages = z
      .array(ListedMessageRow)
      .parse(rows)
      .map(({ sealedTriggers, ...message }) => {
        const triggers = decryptTriggers(sealer, message.id, sealedTriggers)
        const ageMinutes = Math.floor((now.getTime() - message.createdAt.getTime()) / MINUTE_MS)
        return {
          ...message,
          staffState: describeStaffState(message.state, message),
          ageMinutes,
          triggers,
          urgency: findHighestUrgency(triggers) ?? null,
        }
      })
    const decryptedCount = messages.filter(({ triggers }) => triggers.length > 0).length
    if (decryptedCount > 0)
      await recordStaffAct(
        tx,
        { actor, action: 'contact list', about: `triggers of ${formatCount(decryptedCount, 'message')}` },
        now,
      )
    return messages.toSorted((a, b) => rankUrgency(a) - rankUrgency(b))
  })

const rankUrgency = ({ urgency }: ListedMessage) =>
  urgency === null ? URGENCIES.length : URGENCIES.indexOf(urgency)

/** A message whose content was erased. */
export interface ErasedMessage {
  readonly id: string
  readonly topic: ContactTopic
  readonly state: 'erased'
  readonly createdAt: Date
  readonly erasedAt: Date
}
const ErasedMessageRow = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  created_at: z.date(),
  erased_at: z.date(),
})

/**
 * Reads and decrypts a message, and records this in the audit log. For an erased message, nothing is decrypted or recorded.
 *
 * @returns undefined for an unknown message
 * @throws {UnsealError} for a message that cannot be decrypted
 */
export const readMessage = (
  db: Pool,
  { sealer, id, actor, now }: { sealer: Sealer; id: string; actor: string; now: Date },
): Promise<DecryptedMessage | ErasedMessage | undefined> =>
  db.transaction(async (tx) => {
    const { rows } = await tx.query('select * from contact_messages where id = $1', [id])
    if (!rows[0]) return undefined
    if (rows[0]['state'] === 'erased') {
      const { topic, created_at: createdAt, erased_at: erasedAt } = ErasedMessageRow.parse(rows[0])
      return { id, topic, state: 'erased', createdAt, erasedAt }
    }
    await recordStaffAct(tx, { actor, action: 'contact show', about: id }, now)
    return decryptMessage(sealer, rows[0])
  })

/**
 * Erases the content of a message and of its unsent mails. A delivered message can be erased too.
 *
 * @returns false if the message is unknown or was already erased
 */
export const eraseMessage = (
  db: Pool,
  { id, actor, now }: { id: string; actor: string; now: Date },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const deliveryState = await readDeliveryState(tx, { kind: CONTACT_MAIL.staff, about: id }, now)
    await eraseMails(tx, [id], now)
    // Staff may have the message after an attempt to mail it, so a withdrawal must not promise anything else.
    const { rowCount } = await tx.query(
      `update contact_messages set ${ERASE_CONTENT}, erased_at = $2,
         delivered_at = case when state = 'received' and $3 then $2 else delivered_at end
       where id = $1 and state <> 'erased'`,
      [id, now, deliveryState !== 'not-attempted'],
    )
    if (rowCount === 0) return false
    await recordStaffAct(tx, { actor, action: 'contact erase', about: id }, now)
    return true
  })

/** A step that staff take to handle a message. */
export type StaffStep =
  | { readonly kind: 'assign'; readonly owner: string }
  | { readonly kind: 'answered' }
  | { readonly kind: 'close'; readonly note: string; readonly sealer: Sealer }

/**
 * Records a step that staff took. `assign` replaces the owner; with another step, the actor becomes the owner of a message that
 * has none. A second `answered` replaces the time of the first. The public API does not show steps or owners.
 *
 * @returns the state that staff see; undefined for a message that is unknown, not delivered yet, erased or closed
 */
export const recordStaffStep = (
  db: Pool,
  staffStep: StaffStep,
  { id, actor, now }: { id: string; actor: string; now: Date },
): Promise<string | undefined> =>
  db.transaction(async (tx) => {
    const note =
      staffStep.kind === 'close' ? staffStep.sealer.seal(staffStep.note, getMessageContext(id, 'note')) : null
    const { rows } = await tx.query<{ answered_at: Date | null; closed_at: Date | null }>(
      `update contact_messages set
         owner = coalesce($2, owner, $3),
         answered_at = case when $4 then $7 else answered_at end,
         closed_at = case when $5 then $7 else closed_at end,
         note_sealed = coalesce($6, note_sealed)
       where id = $1 and state = 'delivered' and closed_at is null
       returning answered_at, closed_at`,
      [
        id,
        staffStep.kind === 'assign' ? staffStep.owner : null,
        actor,
        staffStep.kind === 'answered',
        staffStep.kind === 'close',
        note,
        now,
      ],
    )
    if (!rows[0]) return undefined
    await recordStaffAct(tx, { actor, action: `contact ${staffStep.kind}`, about: id }, now)
    return describeStaffState('delivered', { answeredAt: rows[0].answered_at, closedAt: rows[0].closed_at })
  })
