import { RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { AgentMessage, NewMessage } from './contact-store.ts'
import { sealMessage } from './sealed-message.ts'

export interface Idempotency {
  readonly idempotency_hash: Buffer
  readonly request_hash: Buffer
}

/** @param more columns beside those of every message */
export async function insertMessage(
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

export const idempotencyOf = (hashKey: HashKey, message: AgentMessage): Idempotency | undefined =>
  message.idempotency && {
    idempotency_hash: hashKey.hash(
      'idempotency/contact',
      `${message.registrationId}\n${message.idempotency.key}`,
    ),
    request_hash: hashKey.hash('idempotency-request/contact', message.idempotency.request),
  }

const Kept = z.object({ id: z.uuid(), request_hash: z.instanceof(Buffer) })

/**
 * Holds an idempotency key until the transaction ends.
 *
 * @returns the message that the key was used for in the last 24 hours, if any
 */
export async function takeIdempotencyKey(tx: Database, hash: Buffer, now: Date) {
  const { rows: locks } = await tx.query<{ held: boolean }>(
    'select pg_try_advisory_xact_lock($1::bigint) as held',
    [hash.readBigInt64BE().toString()],
  )
  if (locks[0]?.held !== true) return 'in-progress'
  await tx.query(
    `update contact_messages set idempotency_hash = null, request_hash = null
     where idempotency_hash = $1 and created_at <= $2`,
    [hash, new Date(now.getTime() - RULES.idempotencyMs)],
  )
  const { rows } = await tx.query(
    'select id, request_hash from contact_messages where idempotency_hash = $1',
    [hash],
  )
  return rows[0] && Kept.parse(rows[0])
}
