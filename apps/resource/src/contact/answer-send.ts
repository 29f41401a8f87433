import type { ContactRequest } from '@plainpath/domain'
import { Problem, type RequestFacts } from '@plainpath/http'
import { OFFICIAL_LISTS, PREPARE_FOR_ATTORNEY } from '@plainpath/pages'
import type { VerifiedPerson } from '../auth/verified-person.ts'
import { CONTACT_REGISTRATION } from '../limits.ts'
import type { SendMessage } from './send-message.ts'

/**
 * Sends as a program is answered, by the route and by the tool alike.
 *
 * @throws {Problem} 401 and 403 with a challenge, 409 and 422 for the key, 429; and what the store throws
 */
export function answerSend(deps: { sendMessage: SendMessage; verifiedPerson: VerifiedPerson }) {
  return async (
    asked: ContactRequest,
    request: Pick<RequestFacts, 'take' | 'header'>,
    idempotencyKey?: string,
  ) => {
    const { registrationId, email } = await deps.verifiedPerson(request)
    await request.take(CONTACT_REGISTRATION, registrationId)
    const sent = await deps.sendMessage({ registrationId, email, asked, idempotencyKey })
    if (!sent.ok) throw new Problem(PROBLEM_OF[sent.error])
    const help = { prepare: [...PREPARE_FOR_ATTORNEY], attorneyLists: [...OFFICIAL_LISTS] }
    return { id: sent.value.id, status: 'received', ...(asked.topic === 'attorney' && help) } as const
  }
}

const PROBLEM_OF = {
  'in-progress': 'idempotency-in-progress',
  'other-request': 'idempotency-key-reused',
} as const
