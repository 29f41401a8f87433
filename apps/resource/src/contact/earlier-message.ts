import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import type { HashKey } from '@plainpath/sealing'
import { z } from 'zod'
import type { NewMessage } from './contact-message.ts'

/** Who wrote: an agent's registration, or the canonical address that was typed on the page. */
export type Author = { readonly registrationId: string } | { readonly address: string }

/** What a message is known by when it comes again, as columns. */
export interface IdempotencyColumns {
  readonly idempotency_hash: Buffer
  readonly request_hash: Buffer
}

/** @param message.key an Idempotency-Key */
export const idempotencyColumns = (
  hashKey: HashKey,
  message: NewMessage & { readonly registrationId: string; readonly key: string },
): IdempotencyColumns => ({
  idempotency_hash: hashKey.hash('idempotency/contact', `${message.registrationId}\n${message.key}`),
  request_hash: hashKey.hash('idempotency-request/contact', writtenContent(message)),
})

/** The same for the same message of the same author. */
export const contentHash = (hashKey: HashKey, author: Author, message: NewMessage): Buffer =>
  hashKey.hash('content/contact', JSON.stringify([author, writtenContent(message)]))

/** A message without triggers is written as the release before wrote it, whose hashes are still compared. */
const writtenContent = ({ topic, text, guideSlug, triggers }: NewMessage) =>
  JSON.stringify([topic, text, guideSlug, ...(triggers.length > 0 ? [triggers] : [])])

/** What the sender of a message is told. */
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
 * Holds an idempotency key until the transaction ends.
 *
 * @returns the message that the key was used for in the last 24 hours, or why there is none to take; undefined for a
 *   key that was not used
 */
export async function findByKey(
  tx: Database,
  { idempotency_hash: hash, request_hash: request }: IdempotencyColumns,
  now: Date,
): Promise<Result<ReceivedMessage, KeyRefusal> | undefined> {
  const { rows: locks } = await tx.query<{ held: boolean }>(
    'select pg_try_advisory_xact_lock($1::bigint) as held',
    [lockOf(hash)],
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
 * Holds the content until the transaction ends, so that of two equal messages at once the second one finds the first.
 *
 * @returns the id of the same message, where it was sent within the last 24 hours and not withdrawn
 */
export async function findDuplicate(tx: Database, hash: Buffer, now: Date): Promise<string | undefined> {
  await tx.query('select pg_advisory_xact_lock($1::bigint)', [lockOf(hash)])
  const { rows } = await tx.query<{ id: string }>(
    `select id from contact_messages
     where content_hash = $1 and state in ('received', 'delivered') and created_at > $2
     order by created_at limit 1`,
    [hash, new Date(now.getTime() - RULES.duplicateMessageMs)],
  )
  return rows[0]?.id
}

const lockOf = (hash: Buffer) => hash.readBigInt64BE().toString()
