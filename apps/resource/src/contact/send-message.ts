import { randomUUID } from 'node:crypto'
import { ATTORNEY_LISTS, type ContactRequest } from '@plainpath/domain'
import { Problem, type RequestFacts } from '@plainpath/http'
import { mailboxOf } from '@plainpath/mail'
import { PREPARE_FOR_ATTORNEY, REPLY } from '@plainpath/pages'
import type { VerifiedPerson } from '../auth/bearer.ts'
import { CONTACT_MAILBOX, CONTACT_REGISTRATION } from '../limits.ts'
import { duplicateMessage } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Takes a message of a person whose address is verified, by the route and by the tool alike; mail takes it to the desk.
 *
 * @throws {Problem} 401 and 403 with a challenge, 409 and 422 for the key, 409 for the same message again, 429; and what
 *   the store throws
 */
export function sendMessage(deps: {
  contact: Pick<ContactStore, 'receive'>
  verifiedPerson: VerifiedPerson
  now: () => Date
}) {
  return async (
    asked: ContactRequest,
    request: Pick<RequestFacts, 'take' | 'header'>,
    idempotencyKey?: string,
  ) => {
    const { registrationId, email, agent } = await deps.verifiedPerson(request)
    await request.take(CONTACT_REGISTRATION, registrationId)
    await request.take(CONTACT_MAILBOX, mailboxOf(email).mailbox)
    const received = await deps.contact.receive({
      agent,
      id: randomUUID(),
      registrationId,
      topic: asked.topic,
      text: asked.message,
      guideSlug: asked.guideSlug ?? null,
      triggers: asked.handOff?.triggers ?? [],
      replyTo: email,
      createdAt: deps.now(),
      idempotencyKey,
    })
    if (!received.ok) {
      if (typeof received.error === 'object') throw duplicateMessage(received.error.duplicateOf)
      throw new Problem(PROBLEM_OF[received.error])
    }
    const { id, heldUntil } = received.value
    const help = { prepare: [...PREPARE_FOR_ATTORNEY], attorneyLists: [...ATTORNEY_LISTS] }
    return {
      id,
      status: 'received',
      heldUntil: heldUntil.toISOString(),
      reply: REPLY_BODY,
      ...(asked.topic === 'attorney' && help),
    } as const
  }
}

export type SendMessage = ReturnType<typeof sendMessage>

const REPLY_BODY = { ...REPLY, findHelp: [...REPLY.findHelp] }

const PROBLEM_OF = {
  'in-progress': 'idempotency-in-progress',
  'other-request': 'idempotency-key-reused',
  withdrawn: 'message-withdrawn',
} as const
