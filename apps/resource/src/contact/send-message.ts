import { randomUUID } from 'node:crypto'
import type { ContactRequest } from '@plainpath/domain'
import { Problem, type RequestFacts } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { OFFICIAL_LISTS, PREPARE_FOR_ATTORNEY } from '@plainpath/pages'
import type { VerifiedPerson } from '../auth/bearer.ts'
import { CONTACT_REGISTRATION } from '../limits.ts'
import { receiptMail } from './contact-mails.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Takes a message of a person whose address is verified, by the route and by the tool alike; mail takes it to the desk.
 *
 * @throws {Problem} 401 and 403 with a challenge, 409 and 422 for the key, 429; and what the store throws
 */
export function sendMessage(deps: {
  contact: Pick<ContactStore, 'receive'>
  verifiedPerson: VerifiedPerson
  urls: ServiceUrls
  now: () => Date
}) {
  return async (
    asked: ContactRequest,
    request: Pick<RequestFacts, 'take' | 'header'>,
    idempotencyKey?: string,
  ) => {
    const { registrationId, email } = await deps.verifiedPerson(request)
    await request.take(CONTACT_REGISTRATION, registrationId)
    const id = randomUUID()
    const guideSlug = asked.guideSlug ?? null
    const sameRequest = JSON.stringify([asked.topic, asked.message, guideSlug])
    const received = await deps.contact.receive({
      id,
      registrationId,
      topic: asked.topic,
      text: asked.message,
      guideSlug,
      replyTo: email,
      createdAt: deps.now(),
      ...(idempotencyKey !== undefined && { idempotency: { key: idempotencyKey, request: sameRequest } }),
      receipt: receiptMail(deps.urls, { id, replyTo: email }),
    })
    if (!received.ok) throw new Problem(PROBLEM_OF[received.error])
    const help = { prepare: [...PREPARE_FOR_ATTORNEY], attorneyLists: [...OFFICIAL_LISTS] }
    return { id: received.value.id, status: 'received', ...(asked.topic === 'attorney' && help) } as const
  }
}

export type SendMessage = ReturnType<typeof sendMessage>

const PROBLEM_OF = {
  'in-progress': 'idempotency-in-progress',
  'other-request': 'idempotency-key-reused',
} as const
