import { RULES } from '@plainpath/domain'
import { defineRoute, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import type { OwnMessages } from './own-messages.ts'
import type { SendMessage } from './send-message.ts'

/** Creates the routes by which an agent sends a message to staff, reads its status, and withdraws it. */
export function createContactRoutes(deps: { sendMessage: SendMessage; ownMessages: OwnMessages }): Route[] {
  const sendRoute = defineRoute({
    ...operations.sendContactMessage,
    limits: LIMITS.contact,
    async handle({ body, request, caller }) {
      const idempotencyKey = parseIdempotencyKey(request.header('idempotency-key'))
      return { status: 202, body: await deps.sendMessage(body, { request, caller }, idempotencyKey) }
    },
  })
  const statusRoute = defineRoute({
    ...operations.getContactMessage,
    limits: LIMITS.reads,
    async handle({ params: { id }, caller }) {
      return { status: 200, body: await deps.ownMessages.readStatus(id, caller) }
    },
  })
  const withdrawRoute = defineRoute({
    ...operations.deleteContactMessage,
    limits: LIMITS.contact,
    async handle({ params: { id }, request, caller }) {
      await deps.ownMessages.withdraw(id, { request, caller })
      return { status: 204 }
    },
  })
  return [sendRoute, statusRoute, withdrawRoute]
}

/**
 * Parses an Idempotency-Key: printable ASCII without spaces. This also refuses repeated headers, because Node joins them with a
 * comma and a space. Returns undefined if the header is absent or empty.
 */
function parseIdempotencyKey(header: string): string | undefined {
  if (header === '') return undefined
  const maxCharacters = RULES.idempotencyKeyCharacters
  if (header.length > maxCharacters || !/^[\x21-\x7E]+$/.test(header))
    throw new Problem('invalid-request', {
      detail: `Idempotency-Key must be 1 to ${maxCharacters} printable characters without blanks.`,
    })
  return header
}
