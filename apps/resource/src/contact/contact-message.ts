import { type ContactStatus, ContactTopic, highestUrgency, RULES } from '@plainpath/domain'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'

export interface NewMessage {
  /** A UUID. */
  readonly id: string
  readonly topic: ContactTopic
  readonly text: string
  readonly guideSlug: string | null
  /** Ids of hand-off triggers, the most pressing first; one may be of another release. */
  readonly triggers: readonly string[]
  /** Where answers go: an address that the person was shown to have, or will be. */
  readonly replyTo: string
  readonly createdAt: Date
}

/** A message as the desk and the command line read it. */
export interface OpenedMessage extends NewMessage {
  readonly state: ContactStatus | 'unconfirmed'
}

/**
 * When a message goes to staff.
 *
 * @param from when it was sent, or confirmed
 * @param holdMs how long messages wait; one with an urgent trigger waits a minute at most
 */
export function holdEnd(from: Date, triggers: readonly string[], holdMs: number): Date {
  const longest = highestUrgency(triggers) === 'urgent' ? RULES.urgentHoldMs : holdMs
  return new Date(from.getTime() + Math.min(holdMs, longest))
}

/** SQL as `ERASE_CONTENT`, for a withdrawal: the page of its link can still say what happened. */
export const ERASE_WITHDRAWN = `state = 'erased', message_sealed = null, reply_sealed = null, hand_off_sealed = null,
  link_hash = null, content_hash = null`

/** SQL that erases what a message says and who wrote it; the row stays. */
export const ERASE_CONTENT = `${ERASE_WITHDRAWN}, withdraw_hash = null`

/** What a value of a message is sealed for. */
export const messagePlace = (id: string, column: 'message' | 'reply' | 'hand-off'): string =>
  `contact_messages/${id}/${column}`

export const sealMessage = (
  keys: SealingKeys,
  message: Pick<NewMessage, 'id' | 'text' | 'replyTo' | 'triggers'>,
) => ({
  message_sealed: keys.seal(message.text, messagePlace(message.id, 'message')),
  reply_sealed: keys.seal(message.replyTo, messagePlace(message.id, 'reply')),
  hand_off_sealed:
    message.triggers.length === 0
      ? null
      : keys.seal(JSON.stringify(message.triggers), messagePlace(message.id, 'hand-off')),
})

const Triggers = z.array(z.string())

/** @param sealed null where a message has none */
export const openTriggers = (keys: SealingKeys, id: string, sealed: Buffer | null): string[] =>
  sealed === null
    ? []
    : Triggers.parse(JSON.parse(keys.open(sealed, messagePlace(id, 'hand-off')).toString('utf8')))

const Row = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  guide_slug: z.string().nullable(),
  message_sealed: z.instanceof(Buffer),
  reply_sealed: z.instanceof(Buffer),
  hand_off_sealed: z.instanceof(Buffer).nullable(),
  state: z.enum(['unconfirmed', 'received', 'delivered', 'erased']),
  created_at: z.date(),
})

/** @throws {z.ZodError} for a row that was erased */
export function openMessage(keys: SealingKeys, stored: object): OpenedMessage {
  const row = Row.parse(stored)
  return {
    id: row.id,
    topic: row.topic,
    guideSlug: row.guide_slug,
    text: keys.open(row.message_sealed, messagePlace(row.id, 'message')).toString('utf8'),
    triggers: openTriggers(keys, row.id, row.hand_off_sealed),
    replyTo: keys.open(row.reply_sealed, messagePlace(row.id, 'reply')).toString('utf8'),
    state: row.state,
    createdAt: row.created_at,
  }
}
