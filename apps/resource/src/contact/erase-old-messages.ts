import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'

const BATCH = 1000

/** A message that never reached the desk goes 90 days after it came. @returns how many rows were changed */
export async function eraseOldMessages(db: Database, now: Date): Promise<number> {
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const unconfirmed = await db.query(
    `delete from contact_messages where id in
       (select id from contact_messages where state = 'unconfirmed' and created_at <= $1 limit ${BATCH})`,
    [ago(RULES.unconfirmedMessageMs)],
  )
  const keys = await db.query(
    `update contact_messages set idempotency_hash = null, request_hash = null where id in
       (select id from contact_messages where idempotency_hash is not null and created_at <= $1 limit ${BATCH})`,
    [ago(RULES.idempotencyMs)],
  )
  const old = await db.query(
    `update contact_messages set state = 'erased', erased_at = $2, message_sealed = null, reply_sealed = null where id in
       (select id from contact_messages
        where state in ('received', 'delivered') and coalesce(delivered_at, created_at) <= $1 limit ${BATCH})`,
    [ago(RULES.deliveredMessageMs), now],
  )
  return [unconfirmed, keys, old].reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}
