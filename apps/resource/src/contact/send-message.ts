import { randomUUID } from 'node:crypto'
import { ATTORNEY_LISTS, type ContactRequest } from '@plainpath/domain'
import { type Caller, Problem, type RequestFacts } from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import { PREPARE_FOR_ATTORNEY, REPLY } from '@plainpath/pages'
import type { VerifiedPerson } from '../auth/bearer.ts'
import { CONTACT_MAILBOX, CONTACT_REGISTRATION } from '../limits.ts'
import { duplicateMessage } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Creates the function with which the route and the tool send a message of a person whose address is verified.
 *
 * @throws {Problem} 401 and 403 with a challenge, 409 and 422 for the key, 409 for a repeated message, 429; and errors of the store
 */
export function sendMessage(deps: {
  contact: Pick<ContactStore, 'receive'>
  verifiedPerson: VerifiedPerson
  now: () => Date
}) {
  return async (
    message: ContactRequest,
    { request, caller }: { request: Pick<RequestFacts, 'take' | 'header' | 'path'>; caller: Caller },
    idempotencyKey?: string,
  ) => {
    const { registrationId, email, agent } = await deps.verifiedPerson(request, caller)
    await request.take(CONTACT_REGISTRATION, registrationId)
    await request.take(CONTACT_MAILBOX, parseMailbox(email).mailbox)
    const received = await deps.contact.receive({
      agent,
      id: randomUUID(),
      registrationId,
      topic: message.topic,
      text: message.message,
      guideSlug: message.guideSlug ?? null,
      triggers: message.handOff?.triggers ?? [],
      replyTo: email,
      agentDomain: agent?.verifiedDomain ?? null,
      createdAt: deps.now(),
      idempotencyKey,
    })
    if (!received.ok) {
      if (typeof received.error === 'object') throw duplicateMessage(received.error.duplicateOf)
      throw new Problem(PROBLEM_CODES[received.error])
    }
    const { id, heldUntil } = received.value
    const help = { prepare: [...PREPARE_FOR_ATTORNEY], attorneyLists: [...ATTORNEY_LISTS] }
    return {
      id,
      status: 'received',
      heldUntil: heldUntil.toISOString(),
      reply: REPLY_BODY,
      ...(message.topic === 'attorney' && help),
    } as const
  }
}

export type SendMessage = ReturnType<typeof sendMessage>

const REPLY_BODY = { ...REPLY, findHelp: [...REPLY.findHelp] }

const PROBLEM_CODES = {
  'in-progress': 'idempotency-in-progress',
  'other-request': 'idempotency-key-reused',
  withdrawn: 'message-withdrawn',
} as const
