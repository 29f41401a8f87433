import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'
import type { NewMessage } from './contact-message.ts'

/** The author of a message: the registration of an agent, or the canonical address that was typed on the page. */
export type Author = { readonly registrationId: string } | { readonly address: string }

/** The columns by which a repeated request is recognised. */
export interface IdempotencyColumns {
  readonly idempotency_hash: Buffer
  readonly request_hash: Buffer
}

/** Hashes an Idempotency-Key and the content that it was sent with. @param message.key the Idempotency-Key */
export const idempotencyColumns = (
  hashKey: HashKey,
  message: NewMessage & { readonly registrationId: string; readonly key: string },
): IdempotencyColumns => ({
  idempotency_hash: hashKey.hash('idempotency/contact', `${message.registrationId}\n${message.key}`),
  request_hash: hashKey.hash('idempotency-request/contact', writtenContent(message)),
})

/** Hashes the content of a message with its author, so that a repeated message is recognised. */
export const contentHash = (hashKey: HashKey, author: Author, message: NewMessage): Buffer =>
  hashKey.hash('content/contact', JSON.stringify([author, writtenContent(message)]))

/** Serialises the content. Without triggers it equals that of the previous release, whose hashes are still compared. */
const writtenContent = ({ topic, text, guideSlug, triggers }: NewMessage) =>
  JSON.stringify([topic, text, guideSlug, ...(triggers.length > 0 ? [triggers] : [])])

/** The part of a stored message that its sender receives. */
export interface ReceivedMessage {
  readonly id: string
  readonly heldUntil: Date
}

const Idempotent = z.object({
  id: z.uuid(),
  held_until: z.date(),
  request_hash: z.instanceof(Buffer),
  state: z.string(),
})

export type KeyRefusal = 'in-progress' | 'other-request' | 'withdrawn'

/**
 * Locks an idempotency key until the transaction ends, and finds its earlier message.
 *
 * @returns the message for which the key was used in the last 24 hours, or why the key cannot be used; undefined for a new key
 */
export async function findByKey(
  tx: Database,
  { idempotency_hash: hash, request_hash: request }: IdempotencyColumns,
  now: Date,
): Promise<Result<ReceivedMessage, KeyRefusal> | undefined> {
  const { rows: locks } = await tx.query<{ held: boolean }>(
    'select pg_try_advisory_xact_lock($1::bigint) as held',
    [lockKey(hash)],
  )
  if (locks[0]?.held !== true) return err('in-progress')
  await tx.query(
    `update contact_messages set idempotency_hash = null, request_hash = null
     where idempotency_hash = $1 and created_at <= $2`,
    [hash, new Date(now.getTime() - RULES.idempotencyMs)],
  )
  const { rows } = await tx.query(
    `select id, request_hash, state, coalesce(held_until, created_at) as held_until
     from contact_messages where idempotency_hash = $1`,
    [hash],
  )
  if (!rows[0]) return undefined
  const { id, held_until: heldUntil, ...earlier } = Idempotent.parse(rows[0])
  if (!earlier.request_hash.equals(request)) return err('other-request')
  return earlier.state === 'erased' ? err('withdrawn') : ok({ id, heldUntil })
}

/**
 * Locks the content until the transaction ends, so that the second of two simultaneous equal messages finds the first.
 *
 * @returns the id of an equal message of the last 24 hours that was not withdrawn
 */
export async function findDuplicate(tx: Database, hash: Buffer, now: Date): Promise<string | undefined> {
  await tx.query('select pg_advisory_xact_lock($1::bigint)', [lockKey(hash)])
  const { rows } = await tx.query<{ id: string }>(
    `select id from contact_messages
     where content_hash = $1 and state in ('received', 'delivered') and created_at > $2
     order by created_at limit 1`,
    [hash, new Date(now.getTime() - RULES.duplicateMessageMs)],
  )
  return rows[0]?.id
}

const lockKey = (hash: Buffer) => hash.readBigInt64BE().toString()
