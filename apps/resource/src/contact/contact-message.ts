import { type ContactStatus, ContactTopic, findHighestUrgency, RULES } from '@plainpath/domain'
import type { Sealer } from '@plainpath/sealing'
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
  /** The verified domain of the agent that wrote the message; null if it has none, or if a person wrote the message. */
  readonly agentDomain: string | null
  /** The address to which staff reply. The person has verified it, or verifies it later by a mailed link. */
  readonly replyTo: string
  readonly createdAt: Date
}

/** A decrypted message, as staff read it. */
export interface DecryptedMessage extends NewMessage {
  readonly state: ContactStatus | 'unconfirmed'
  readonly writtenBy: 'agent' | 'person'
  readonly handling: Handling
  /** The note that staff wrote when they closed the message. */
  readonly note: string | null
}

/** The handling of a message by staff. The public API does not show it. */
export interface Handling {
  /** The staff member who handles the message. */
  readonly owner: string | null
  readonly answeredAt: Date | null
  readonly closedAt: Date | null
}

/** Returns the state that staff see. It is more detailed than the state in the public API. */
export function describeStaffState(state: string, { answeredAt, closedAt }: Omit<Handling, 'owner'>): string {
  if (state === 'erased') return state
  if (closedAt) return 'closed'
  return answeredAt ? 'answered' : state
}

/**
 * Returns the time at which a message's hold ends and its staff mail is due.
 *
 * @param receivedAt the time at which an agent sent the message, or the person confirmed it
 * @param holdMs the usual hold; a message with an urgent trigger is held for a minute at most
 */
export function findHoldEnd(receivedAt: Date, triggers: readonly string[], holdMs: number): Date {
  const maxHoldMs = findHighestUrgency(triggers) === 'urgent' ? RULES.urgentHoldMs : holdMs
  return new Date(receivedAt.getTime() + Math.min(holdMs, maxHoldMs))
}

/**
 * The SET clause that erases a withdrawn message. Unlike `ERASE_CONTENT`, it keeps the withdrawal link, whose page then says that
 * the message was withdrawn.
 */
export const ERASE_WITHDRAWN = `state = 'erased', message_sealed = null, reply_sealed = null, hand_off_sealed = null,
  agent_domain_sealed = null, note_sealed = null, link_hash = null, content_hash = null`

/**
 * The SET clause that erases a message's text, reply address, triggers, agent's domain, staff note and links, but not its row.
 */
export const ERASE_CONTENT = `${ERASE_WITHDRAWN}, withdraw_hash = null`

/** Returns the encryption context of one value of a message. No value can be decrypted in the context of another. */
export const getMessageContext = (
  id: string,
  column: 'message' | 'reply' | 'hand-off' | 'agent-domain' | 'note',
): string => `contact_messages/${id}/${column}`

/** Encrypts the values of a message. Returns them by column. */
export const encryptMessage = (
  sealer: Sealer,
  message: Pick<NewMessage, 'id' | 'text' | 'replyTo' | 'triggers' | 'agentDomain'>,
) => ({
  message_sealed: sealer.seal(message.text, getMessageContext(message.id, 'message')),
  reply_sealed: sealer.seal(message.replyTo, getMessageContext(message.id, 'reply')),
  hand_off_sealed:
    message.triggers.length === 0
      ? null
      : sealer.seal(JSON.stringify(message.triggers), getMessageContext(message.id, 'hand-off')),
  agent_domain_sealed:
    message.agentDomain === null
      ? null
      : sealer.seal(message.agentDomain, getMessageContext(message.id, 'agent-domain')),
})

const Triggers = z.array(z.string())

/** Decrypts the trigger ids. `sealed` is null for a message without triggers. */
export const decryptTriggers = (sealer: Sealer, id: string, sealed: Buffer | null): string[] =>
  sealed === null
    ? []
    : Triggers.parse(JSON.parse(sealer.unseal(sealed, getMessageContext(id, 'hand-off')).toString('utf8')))

/** Decrypts the agent's domain. `sealed` is null for a message from a person, or from an agent without a verified domain. */
export const decryptAgentDomain = (sealer: Sealer, id: string, sealed: Buffer | null): string | null =>
  sealed === null ? null : sealer.unseal(sealed, getMessageContext(id, 'agent-domain')).toString('utf8')

const MessageRow = z.object({
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
  owner: z.string().nullable(),
  answered_at: z.date().nullable(),
  closed_at: z.date().nullable(),
  note_sealed: z.instanceof(Buffer).nullable(),
})

/**
 * Decrypts a row of `contact_messages`.
 *
 * @throws {z.ZodError} for an erased row
 * @throws {UnsealError} for a value that cannot be decrypted
 */
export function decryptMessage(sealer: Sealer, storedRow: object): DecryptedMessage {
  const row = MessageRow.parse(storedRow)
  return {
    id: row.id,
    topic: row.topic,
    guideSlug: row.guide_slug,
    text: sealer.unseal(row.message_sealed, getMessageContext(row.id, 'message')).toString('utf8'),
    triggers: decryptTriggers(sealer, row.id, row.hand_off_sealed),
    agentDomain: decryptAgentDomain(sealer, row.id, row.agent_domain_sealed),
    writtenBy: row.registration_id === null ? 'person' : 'agent',
    replyTo: sealer.unseal(row.reply_sealed, getMessageContext(row.id, 'reply')).toString('utf8'),
    state: row.state,
    createdAt: row.created_at,
    handling: { owner: row.owner, answeredAt: row.answered_at, closedAt: row.closed_at },
    note:
      row.note_sealed && sealer.unseal(row.note_sealed, getMessageContext(row.id, 'note')).toString('utf8'),
  }
}
