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
    async handle({ body, request, caller }) {
      const key = idempotencyKey(request.header('idempotency-key'))
      return { status: 202, body: await deps.sendMessage(body, { request, caller }, key) }
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

/** Parses an Idempotency-Key of printable ASCII. Node joins repeated headers with a comma and a blank, which is refused. */
function idempotencyKey(sent: string): string | undefined {
  if (sent === '') return undefined
  const maxCharacters = RULES.idempotencyKeyCharacters
  if (sent.length > maxCharacters || !/^[\x21-\x7E]+$/.test(sent))
    throw new Problem('invalid-request', {
      detail: `Idempotency-Key must be 1 to ${maxCharacters} printable characters without blanks.`,
    })
  return sent
}
