import { randomUUID } from 'node:crypto'
import { ATTORNEY_LISTS, type ContactReceived, type ContactRequest } from '@plainpath/domain'
import { type Caller, Problem, type RequestFacts } from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import { PREPARE_FOR_ATTORNEY, REPLY_GUIDANCE } from '@plainpath/pages'
import type { z } from 'zod'
import type { FindVerifiedPerson } from '../auth/verified-person.ts'
import { CONTACT_MAILBOX, CONTACT_REGISTRATION } from '../limits.ts'
import { createDuplicateMessageProblem } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Sends a message to staff, for a person whose e-mail address is verified. The route and the MCP tool use this function.
 *
 * @throws {Problem} 401 and 403 with a challenge; 409 and 422 for the idempotency key; 409 for a repeated message; 429; 503 if
 *   the limits cannot be counted. Also rethrows store errors
 */
export type SendMessage = (
  message: ContactRequest,
  call: { request: Pick<RequestFacts, 'take' | 'header' | 'path'>; caller: Caller },
  idempotencyKey?: string,
) => Promise<z.infer<typeof ContactReceived>>

export function createSendMessage(deps: {
  contact: Pick<ContactStore, 'receive'>
  findVerifiedPerson: FindVerifiedPerson
  now: () => Date
}): SendMessage {
  return async (message, { request, caller }, idempotencyKey) => {
    const { registrationId, email, agent } = await deps.findVerifiedPerson(request, caller)
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
      if (typeof received.error === 'object') throw createDuplicateMessageProblem(received.error.duplicateOf)
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

const REPLY_BODY = { ...REPLY_GUIDANCE, findHelp: [...REPLY_GUIDANCE.findHelp] }

const PROBLEM_CODES = {
  'in-progress': 'idempotency-in-progress',
  'other-request': 'idempotency-key-reused',
  withdrawn: 'message-withdrawn',
} as const
