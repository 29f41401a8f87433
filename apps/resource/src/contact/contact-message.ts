import { type ContactStatus, ContactTopic, highestUrgency, RULES } from '@plainpath/domain'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'

/** A message to staff, before it is stored. */
export interface NewMessage {
  /** A UUID. */
  readonly id: string
  readonly topic: ContactTopic
  readonly text: string
  readonly guideSlug: string | null
  /** Ids of hand-off triggers, the most urgent first. An id may be from another release. */
  readonly triggers: readonly string[]
  /** The domain that the agent which wrote it has proven to control; null where it has none, or a person wrote. */
  readonly agentDomain: string | null
  /** Where staff reply: an address that the person has verified, or verifies by the link that is mailed to it. */
  readonly replyTo: string
  readonly createdAt: Date
}

/** A decrypted message, as staff read it. */
export interface OpenedMessage extends NewMessage {
  readonly state: ContactStatus | 'unconfirmed'
  readonly writtenBy: 'agent' | 'person'
}

/**
 * Computes when a message is delivered to staff.
 *
 * @param from when it was sent, or confirmed
 * @param holdMs how long messages are held; a message with an urgent trigger is held for a minute at most
 */
export function holdEnd(from: Date, triggers: readonly string[], holdMs: number): Date {
  const longest = highestUrgency(triggers) === 'urgent' ? RULES.urgentHoldMs : holdMs
  return new Date(from.getTime() + Math.min(holdMs, longest))
}

/** SQL as `ERASE_CONTENT`, for a withdrawal: it keeps the hash of the link, so that its page can still say what happened. */
export const ERASE_WITHDRAWN = `state = 'erased', message_sealed = null, reply_sealed = null, hand_off_sealed = null,
  agent_domain_sealed = null, link_hash = null, content_hash = null`

/** SQL that erases the content and the author of a message. The row stays. */
export const ERASE_CONTENT = `${ERASE_WITHDRAWN}, withdraw_hash = null`

/** The encryption context to which a value of a message is bound. */
export const messageEncryptionContext = (
  id: string,
  column: 'message' | 'reply' | 'hand-off' | 'agent-domain',
): string => `contact_messages/${id}/${column}`

/** Encrypts the values of a message for their columns. */
export const sealMessage = (
  keys: SealingKeys,
  message: Pick<NewMessage, 'id' | 'text' | 'replyTo' | 'triggers' | 'agentDomain'>,
) => ({
  message_sealed: keys.seal(message.text, messageEncryptionContext(message.id, 'message')),
  reply_sealed: keys.seal(message.replyTo, messageEncryptionContext(message.id, 'reply')),
  hand_off_sealed:
    message.triggers.length === 0
      ? null
      : keys.seal(JSON.stringify(message.triggers), messageEncryptionContext(message.id, 'hand-off')),
  agent_domain_sealed:
    message.agentDomain === null
      ? null
      : keys.seal(message.agentDomain, messageEncryptionContext(message.id, 'agent-domain')),
})

const Triggers = z.array(z.string())

/** Decrypts the ids of triggers. @param sealed null for a message without triggers */
export const openTriggers = (keys: SealingKeys, id: string, sealed: Buffer | null): string[] =>
  sealed === null
    ? []
    : Triggers.parse(JSON.parse(keys.open(sealed, messageEncryptionContext(id, 'hand-off')).toString('utf8')))

/** @param sealed null where the message has no agent with a verified domain */
export const openAgentDomain = (keys: SealingKeys, id: string, sealed: Buffer | null): string | null =>
  sealed === null ? null : keys.open(sealed, messageEncryptionContext(id, 'agent-domain')).toString('utf8')

const Row = z.object({
  id: z.uuid(),
  topic: ContactTopic,
  guide_slug: z.string().nullable(),
  message_sealed: z.instanceof(Buffer),
  reply_sealed: z.instanceof(Buffer),
  hand_off_sealed: z.instanceof(Buffer).nullable(),
  agent_domain_sealed: z.instanceof(Buffer).nullable(),
  registration_id: z.string().nullable(),
  state: z.enum(['unconfirmed', 'received', 'delivered', 'erased']),
  created_at: z.date(),
})

/** Decrypts a row of `contact_messages`. @throws {z.ZodError} for a row that was erased */
export function openMessage(keys: SealingKeys, stored: object): OpenedMessage {
  const row = Row.parse(stored)
  return {
    id: row.id,
    topic: row.topic,
    guideSlug: row.guide_slug,
    text: keys.open(row.message_sealed, messageEncryptionContext(row.id, 'message')).toString('utf8'),
    triggers: openTriggers(keys, row.id, row.hand_off_sealed),
    agentDomain: openAgentDomain(keys, row.id, row.agent_domain_sealed),
    writtenBy: row.registration_id === null ? 'person' : 'agent',
    replyTo: keys.open(row.reply_sealed, messageEncryptionContext(row.id, 'reply')).toString('utf8'),
    state: row.state,
    createdAt: row.created_at,
  }
}
