import type { Database, Pool } from '@plainpath/postgres'
import { type AuthenticatedAgent, type LockedAgent, lockActiveAgent } from '../clients/credential-version.ts'
import type { AuthEvents } from '../events.ts'

interface ContactBinding {
  /** The credential version since which the agent receives `contact:write` only with bound tokens. */
  readonly since: number
  /** The current credential version. */
  readonly credentialVersion: number
}

/** Stores which agents receive `contact:write` only with bound tokens, in the column `contact_bound_since`. */
export interface ContactBindingStore {
  /**
   * Requires bound tokens for `contact:write` from now on, and raises the credential version. Changes nothing if the
   * agent is already bound. `beforeCommit` receives the new version; if it throws, nothing changes.
   *
   * @returns the new or existing binding; undefined if the agent is not active, or one of its credentials was removed after it
   *   was authenticated
   */
  bind(
    agent: AuthenticatedAgent,
    beforeCommit: (credentialVersion: number) => Promise<void>,
  ): Promise<ContactBinding | undefined>
  /**
   * Allows bearer tokens for `contact:write` again. The credential version does not change.
   *
   * @returns false if the agent is not active, or one of its credentials was removed after it was authenticated
   */
  unbind(agent: AuthenticatedAgent): Promise<boolean>
}

export function createContactBindingStore(db: Pool, events: AuthEvents): ContactBindingStore {
  /**
   * Runs a change while the row of the agent is locked.
   *
   * @returns undefined if `lockActiveAgent` locks no agent
   */
  const changeBinding = <T>(
    authenticatedAgent: AuthenticatedAgent,
    change: (tx: Database, agent: LockedAgent) => Promise<T>,
  ): Promise<T | undefined> =>
    db.transaction(async (tx) => {
      // A commit that revokes something is synchronous, whatever the server's default (`AgentStore`).
      await tx.query('set local synchronous_commit = on')
      const agent = await lockActiveAgent(tx, authenticatedAgent)
      return agent && (await change(tx, agent))
    })

  return {
    async bind(agent, beforeCommit) {
      const { id } = agent
      const binding = await changeBinding(
        agent,
        async (tx, { credentialVersion, contactBoundSince: since }) => {
          if (since !== undefined) return { since, credentialVersion, isNew: false }
          const raisedVersion = credentialVersion + 1
          await tx.query('update agents set generation = $2, contact_bound_since = $2 where id = $1', [
            id,
            raisedVersion,
          ])
          await beforeCommit(raisedVersion)
          return { since: raisedVersion, credentialVersion: raisedVersion, isNew: true }
        },
      )
      if (binding?.isNew) events.emit('contact-bound', { client_id: id })
      return binding
    },

    async unbind(agent) {
      const wasBound = await changeBinding(agent, async (tx, { contactBoundSince }) => {
        if (contactBoundSince === undefined) return false
        await tx.query('update agents set contact_bound_since = null where id = $1', [agent.id])
        return true
      })
      if (wasBound) events.emit('contact-unbound', { client_id: agent.id })
      return wasBound !== undefined
    },
  }
}
