import { ContactTopic } from '@plainpath/domain'
import { eraseMails } from '@plainpath/mail'
import type { Database, Pool } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { auditDesk } from '../desk-audit.ts'
import { type OpenedMessage, openMessage } from './contact-message.ts'

const Listed = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  state: z.string(),
  createdAt: z.date(),
  deliveredAt: z.date().nullable(),
})
export type ListedMessage = z.infer<typeof Listed>

/** The newest messages, without texts and addresses. */
export async function listMessages(db: Database, limit: number): Promise<ListedMessage[]> {
  const { rows } = await db.query(
    `select id, topic, state, created_at as "createdAt", delivered_at as "deliveredAt"
     from contact_messages order by created_at desc, id limit $1`,
    [limit],
  )
  return z.array(Listed).parse(rows)
}

/** Opens a message, and writes down who did. @returns undefined for one that is not there, or erased */
export const showMessage = (
  db: Pool,
  { sealingKeys, id, actor, now }: { sealingKeys: SealingKeys; id: string; actor: string; now: Date },
): Promise<OpenedMessage | undefined> =>
  db.transaction(async (tx) => {
    const { rows } = await tx.query(`select * from contact_messages where id = $1 and state <> 'erased'`, [
      id,
    ])
    if (!rows[0]) return undefined
    await auditDesk(tx, { actor, action: 'contact show', about: id }, now)
    return openMessage(sealingKeys, rows[0])
  })

/** Erases text and address, also of a message that was delivered. @returns false when nothing was left to erase */
export const eraseMessage = (
  db: Pool,
  { id, actor, now }: { id: string; actor: string; now: Date },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    await eraseMails(tx, id, now)
    const { rowCount } = await tx.query(
      `update contact_messages set state = 'erased', erased_at = $2, link_hash = null,
         message_sealed = null, reply_sealed = null
       where id = $1 and state <> 'erased'`,
      [id, now],
    )
    if (rowCount === 0) return false
    await auditDesk(tx, { actor, action: 'contact erase', about: id }, now)
    return true
  })
