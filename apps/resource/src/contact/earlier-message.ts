import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'
import type { NewMessage } from './contact-message.ts'

/** The author of a message: an agent's registration, or the canonical form of the address that was typed into the form. */
export type Author = { readonly registrationId: string } | { readonly address: string }

/** The columns by which a repeated request is recognised. */
export interface IdempotencyColumns {
  readonly idempotency_hash: Buffer
  readonly request_hash: Buffer
}

/** Hashes an Idempotency-Key and the content of its request. */
export const hashIdempotencyKey = (
  hashKey: HashKey,
  message: NewMessage & { readonly registrationId: string; readonly key: string },
): IdempotencyColumns => ({
  idempotency_hash: hashKey.hash('idempotency/contact', `${message.registrationId}\n${message.key}`),
  request_hash: hashKey.hash('idempotency-request/contact', serializeContent(message)),
})

/** Hashes the content and the author of a message. A repeated message has the same hash. */
export const hashContent = (hashKey: HashKey, author: Author, message: NewMessage): Buffer =>
  hashKey.hash('content/contact', JSON.stringify([author, serializeContent(message)]))

/**
 * Serialises the content. Without triggers, the result is the same as in the previous release, whose hashes are still compared.
 */
const serializeContent = ({ topic, text, guideSlug, triggers }: NewMessage) =>
  JSON.stringify([topic, text, guideSlug, ...(triggers.length > 0 ? [triggers] : [])])

/** The part of a stored message that is returned to its sender. */
export interface ReceivedMessage {
  readonly id: string
  readonly heldUntil: Date
}

const EarlierMessageRow = z.object({
  id: z.uuid(),
  held_until: z.date(),
  request_hash: z.instanceof(Buffer),
  state: z.string(),
})

/**
 * The reason why an idempotency key cannot be used. `in-progress`: a request with the key is in flight; `other-request`: the key
 * was used for other content; `withdrawn`: its message was erased.
 */
export type IdempotencyRefusal = 'in-progress' | 'other-request' | 'withdrawn'

/**
 * Locks an idempotency key until the transaction ends, and finds the message for which it was used.
 *
 * @returns the message for which the key was used in the last 24 hours, or the reason why the key cannot be used; undefined for
 *   a new key
 */
export async function findByIdempotencyKey(
  tx: Database,
  { idempotency_hash: hash, request_hash: requestHash }: IdempotencyColumns,
  now: Date,
): Promise<Result<ReceivedMessage, IdempotencyRefusal> | undefined> {
  const { rows: lockRows } = await tx.query<{ is_locked: boolean }>(
    'select pg_try_advisory_xact_lock($1::bigint) as is_locked',
    [toLockKey(hash)],
  )
  if (lockRows[0]?.is_locked !== true) return err('in-progress')
  // Frees a key that has expired but was not swept yet. The column is unique, so the key could not be stored again otherwise.
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
  const { id, held_until: heldUntil, request_hash: earlierHash, state } = EarlierMessageRow.parse(rows[0])
  if (!earlierHash.equals(requestHash)) return err('other-request')
  return state === 'erased' ? err('withdrawn') : ok({ id, heldUntil })
}

/**
 * Locks the content until the transaction ends, and finds an equal message from the last 24 hours that is neither unconfirmed nor
 * erased. Because of the lock, the second of two simultaneous equal messages finds the first.
 *
 * @returns the id of the oldest such message; undefined if there is none
 */
export async function findDuplicate(tx: Database, hash: Buffer, now: Date): Promise<string | undefined> {
  await tx.query('select pg_advisory_xact_lock($1::bigint)', [toLockKey(hash)])
  const { rows } = await tx.query<{ id: string }>(
    `select id from contact_messages
     where content_hash = $1 and state in ('received', 'delivered') and created_at > $2
     order by created_at limit 1`,
    [hash, new Date(now.getTime() - RULES.duplicateMessageMs)],
  )
  return rows[0]?.id
}

/** Converts a hash to the key of an advisory lock, which has 64 bits. */
const toLockKey = (hash: Buffer) => hash.readBigInt64BE().toString()
