import { RULES } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { OwnMessages } from './own-messages.ts'
import type { SendMessage } from './send-message.ts'

export function contactRoutes(deps: { sendMessage: SendMessage; ownMessages: OwnMessages }): Route[] {
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
      return { status: 200, body: await deps.ownMessages.read(id, caller) }
    },
  })
  const withdraw = defineRoute({
    ...operations.deleteContactMessage,
    limits: LIMITS.contact,
    async handle({ params: { id }, caller }) {
      await deps.ownMessages.withdraw(id, caller)
      return { status: 204 }
    },
  })
  return [send, get, withdraw]
}

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
