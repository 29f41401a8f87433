import { type Caller, Problem } from '@plainpath/http'
import { notWithdrawn } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

/** Creates the functions with which routes and tools read and withdraw the messages of the calling registration. */
export function ownMessages({
  contact,
  now,
}: {
  contact: Pick<ContactStore, 'find' | 'withdraw'>
  now: () => Date
}) {
  return {
    /** Reads a message. @throws {Problem} 404 for an unknown message, or one of another registration */
    async read(id: string, caller: Caller) {
      const state = await contact.find(id, callerRegistration(caller))
      if (state === undefined) throw unknownMessage()
      const { status, heldUntil } = state
      return { id, status, ...(status !== 'erased' && { heldUntil: heldUntil.toISOString() }) }
    },
    /** Withdraws a message. @throws {Problem} 404 as `read`; 409 if its delivery has begun */
    async withdraw(id: string, caller: Caller): Promise<void> {
      const withdrawn = await contact.withdraw({ id, registrationId: callerRegistration(caller) }, now())
      if (withdrawn.ok) return
      throw withdrawn.error === 'not-found' ? unknownMessage() : notWithdrawn(withdrawn.error)
    },
  }
}

export type OwnMessages = ReturnType<typeof ownMessages>

const callerRegistration = ({ registrationId, clientId }: Caller) => registrationId ?? clientId

const unknownMessage = () =>
  new Problem('not-found', { detail: 'No message of this registration has this id.' })
