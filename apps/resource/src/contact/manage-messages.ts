import { ContactTopic, highestUrgency, MINUTE_MS, URGENCIES, type Urgency } from '@plainpath/domain'
import { eraseMails } from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { recordStaffAct } from '../staff-audit.ts'
import { ERASE_CONTENT, type OpenedMessage, openMessage, openTriggers } from './contact-message.ts'

const ListedRow = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  state: z.string(),
  createdAt: z.date(),
  deliveredAt: z.date().nullable(),
  handOff: z.instanceof(Buffer).nullable(),
})
export interface ListedMessage extends Omit<z.infer<typeof ListedRow>, 'handOff'> {
  readonly ageMinutes: number
  /** Why the person needs a lawyer, the most urgent trigger first. */
  readonly triggers: readonly string[]
  readonly urgency: Urgency | null
}

/**
 * Lists the newest messages without texts and addresses, those with urgent triggers first. If it decrypts triggers, it records
 * that in the audit.
 */
export const listMessages = (
  db: Pool,
  { sealingKeys, limit, actor, now }: { sealingKeys: SealingKeys; limit: number; actor: string; now: Date },
): Promise<ListedMessage[]> =>
  db.transaction(async (tx) => {
    const { rows } = await tx.query(
      `select id, topic, state, created_at as "createdAt", delivered_at as "deliveredAt", hand_off_sealed as "handOff"
       from contact_messages order by created_at desc, id limit $1`,
      [limit],
    )
    const messages = z
      .array(ListedRow)
      .parse(rows)
      .map(({ handOff, ...message }) => {
        const triggers = openTriggers(sealingKeys, message.id, handOff)
        const ageMinutes = Math.floor((now.getTime() - message.createdAt.getTime()) / MINUTE_MS)
        return { ...message, ageMinutes, triggers, urgency: highestUrgency(triggers) ?? null }
      })
    const opened = messages.filter(({ urgency }) => urgency !== null).length
    if (opened > 0)
      await recordStaffAct(
        tx,
        { actor, action: 'contact list', about: `triggers of ${opened} messages` },
        now,
      )
    return messages.toSorted((one, other) => urgencyRank(one) - urgencyRank(other))
  })

const urgencyRank = ({ urgency }: ListedMessage) =>
  urgency === null ? URGENCIES.length : URGENCIES.indexOf(urgency)

/** Decrypts a message and records that in the audit. @returns undefined for an unknown or erased message */
export const showMessage = (
  db: Pool,
  { sealingKeys, id, actor, now }: { sealingKeys: SealingKeys; id: string; actor: string; now: Date },
): Promise<OpenedMessage | undefined> =>
  db.transaction(async (tx) => {
    const { rows } = await tx.query(`select * from contact_messages where id = $1 and state <> 'erased'`, [
      id,
    ])
    if (!rows[0]) return undefined
    await recordStaffAct(tx, { actor, action: 'contact show', about: id }, now)
    return openMessage(sealingKeys, rows[0])
  })

/** Erases the text and the address of a message, even if it was delivered. @returns false if nothing is left to erase */
export const eraseMessage = (
  db: Pool,
  { id, actor, now }: { id: string; actor: string; now: Date },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    await eraseMails(tx, id, now)
    const { rowCount } = await tx.query(
      `update contact_messages set ${ERASE_CONTENT}, erased_at = $2 where id = $1 and state <> 'erased'`,
      [id, now],
    )
    if (rowCount === 0) return false
    await recordStaffAct(tx, { actor, action: 'contact erase', about: id }, now)
    return true
  })
