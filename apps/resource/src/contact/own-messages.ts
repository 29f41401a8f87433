import type { ContactStatus } from '@plainpath/domain'
import { type Caller, Problem, type RequestFacts } from '@plainpath/http'
import type { FindVerifiedPerson } from '../auth/verified-person.ts'
import { createMayBeDeliveredProblem, createNotWithdrawnProblem } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

type RequestHeaders = Pick<RequestFacts, 'header' | 'path'>

/** The messages that the caller sent under its current e-mail verification, for the routes and the MCP tools. */
export interface OwnMessages {
  /**
   * Reads the status of a message.
   *
   * @throws {Problem} 404 for an unknown message, or for a message that was sent under another e-mail verification
   */
  readStatus(id: string, caller: Caller): Promise<{ id: string; status: ContactStatus; heldUntil?: string }>
  /**
   * Withdraws a message. If staff may have it nevertheless, the message is erased, but the response is a 409 and not a 204, because
   * a client that looks only at the status would tell the person that staff will not see the message.
   *
   * @throws {Problem} 404 for the same reasons as `readStatus`; 409 if staff have the message, may have it, or are about to
   */
  withdraw(id: string, call: { request: RequestHeaders; caller: Caller }): Promise<void>
}

export function createOwnMessages({
  contact,
  findVerifiedPerson,
  now,
}: {
  contact: Pick<ContactStore, 'findStatus' | 'withdraw'>
  findVerifiedPerson: FindVerifiedPerson
  now: () => Date
}): OwnMessages {
  /** Finds the agent to name in the mail to the person. Returns undefined on failure: the withdrawal should still succeed. */
  const findAgent = (request: RequestHeaders, caller: Caller) =>
    findVerifiedPerson(request, caller).then(
      ({ agent }) => agent,
      () => undefined,
    )
  return {
    async readStatus(id, caller) {
      const message = await contact.findStatus(id, getRegistrationId(caller))
      if (message === undefined) throw createUnknownMessageProblem()
      const { status, heldUntil } = message
      return { id, status, ...(status !== 'erased' && { heldUntil: heldUntil.toISOString() }) }
    },
    async withdraw(id, { request, caller }) {
      const agent = await findAgent(request, caller)
      const target = { id, registrationId: getRegistrationId(caller), agent }
      const withdrawal = await contact.withdraw(target, now())
      if (!withdrawal.ok)
        throw withdrawal.error === 'not-found'
          ? createUnknownMessageProblem()
          : createNotWithdrawnProblem(withdrawal.error)
      if (withdrawal.value.mayBeDelivered) throw createMayBeDeliveredProblem(id)
    },
  }
}

const getRegistrationId = ({ registrationId, clientId }: Caller) => registrationId ?? clientId

const createUnknownMessageProblem = () =>
  new Problem('not-found', { detail: 'No message that was sent under this confirmation has this id.' })
