import { type ContactStatus, ContactTopic } from '@plainpath/domain'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'

export interface NewMessage {
  /** A UUID. */
  readonly id: string
  readonly topic: ContactTopic
  readonly text: string
  readonly guideSlug: string | null
  /** Where answers go: an address that the person was shown to have, or will be. */
  readonly replyTo: string
  readonly createdAt: Date
}

/** A message as the desk and the command line read it. */
export interface OpenedMessage extends NewMessage {
  readonly state: ContactStatus | 'unconfirmed'
}

/** What a value of a message is sealed for. */
export const messagePlace = (id: string, column: 'message' | 'reply'): string =>
  `contact_messages/${id}/${column}`

export const sealMessage = (keys: SealingKeys, message: { id: string; text: string; replyTo: string }) => ({
  message_sealed: keys.seal(message.text, messagePlace(message.id, 'message')),
  reply_sealed: keys.seal(message.replyTo, messagePlace(message.id, 'reply')),
})

const Row = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  guide_slug: z.string().nullable(),
  message_sealed: z.instanceof(Buffer),
  reply_sealed: z.instanceof(Buffer),
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
    replyTo: keys.open(row.reply_sealed, messagePlace(row.id, 'reply')).toString('utf8'),
    state: row.state,
    createdAt: row.created_at,
  }
}
