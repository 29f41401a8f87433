import { type Caller, Problem } from '@plainpath/http'
import { notWithdrawn } from './contact-problems.ts'
import type { ContactStore } from './contact-store.ts'

/** Reads and withdraws the messages of the registration that calls, by the routes and by the tools alike. */
export function ownMessages({
  contact,
  now,
}: {
  contact: Pick<ContactStore, 'find' | 'withdraw'>
  now: () => Date
}) {
  return {
    /** @throws {Problem} 404 for a message of another registration, too */
    async read(id: string, caller: Caller) {
      const state = await contact.find(id, registrationOf(caller))
      if (state === undefined) throw unknownMessage()
      const { status, heldUntil } = state
      return { id, status, ...(status !== 'erased' && { heldUntil: heldUntil.toISOString() }) }
    },
    /** @throws {Problem} 404 as `read`, 409 once the message is being delivered or was */
    async withdraw(id: string, caller: Caller): Promise<void> {
      const withdrawn = await contact.withdraw({ id, registrationId: registrationOf(caller) }, now())
      if (withdrawn.ok) return
      throw withdrawn.error === 'not-found' ? unknownMessage() : notWithdrawn(withdrawn.error)
    },
  }
}

export type OwnMessages = ReturnType<typeof ownMessages>

const registrationOf = ({ registrationId, clientId }: Caller) => registrationId ?? clientId

const unknownMessage = () =>
  new Problem('not-found', { detail: 'No message of this registration has this id.' })
