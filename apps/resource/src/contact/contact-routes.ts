import { RULES } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import { notWithdrawn } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'
import type { SendMessage } from './send-message.ts'

export function contactRoutes(deps: {
  sendMessage: SendMessage
  contact: ContactStore
  now: () => Date
}): Route[] {
  const send = defineRoute({
    ...operations.sendContactMessage,
    limits: LIMITS.contact,
    async handle({ body, request }) {
      const key = idempotencyKey(request.header('idempotency-key'))
      return { status: 202, body: await deps.sendMessage(body, request, key) }
    },
  })
  const get = defineRoute({
    ...operations.getContactMessage,
    limits: LIMITS.reads,
    async handle({ params: { id }, caller }) {
      const state = await deps.contact.find(id, caller.registrationId ?? caller.clientId)
      if (state === undefined) throw unknownMessage()
      return { status: 200, body: { id, ...state, heldUntil: state.heldUntil.toISOString() } }
    },
  })
  const withdraw = defineRoute({
    ...operations.deleteContactMessage,
    limits: LIMITS.contact,
    async handle({ params: { id }, caller }) {
      const registrationId = caller.registrationId ?? caller.clientId
      const withdrawn = await deps.contact.withdraw({ id, registrationId }, deps.now())
      if (withdrawn.ok) return { status: 204 }
      throw withdrawn.error === 'not-found' ? unknownMessage() : notWithdrawn(withdrawn.error)
    },
  })
  return [send, get, withdraw]
}

const unknownMessage = () =>
  new Problem('not-found', { detail: 'No message of this registration has this id.' })

/** Any printable ASCII; Node joins a header that is sent twice by a comma. */
function idempotencyKey(sent: string): string | undefined {
  if (sent === '') return undefined
  const most = RULES.idempotencyKeyCharacters
  if (sent.length > most || !/^[\x21-\x7E]+$/.test(sent))
    throw new Problem('invalid-request', {
      detail: `Idempotency-Key must be 1 to ${most} printable characters without blanks.`,
    })
  return sent
}
