import type { AgentId } from '@plainpath/domain'
import { createRowReader, type Database, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { buildVersionCondition } from '../clients/credential-version.ts'
import type { AuthEvents } from '../events.ts'
import type { AuthenticatedAgent, ChangedAgent } from './agent-store.ts'

const BindingColumns = z.object({ generation: z.int(), contactBoundSince: z.int().optional() })
const BindingRow = createRowReader(BindingColumns)

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
   * agent is already bound, or if its credential version is not `credentialVersion`, under which it was authenticated.
   * `beforeCommit` receives the new version; if it throws, nothing changes.
   *
   * @returns the new or existing binding; undefined if the agent is not active, or has another credential version
   */
  bind(
    id: AgentId,
    credentialVersion: number,
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
   * @returns undefined for an agent that is unknown or not active. If `credentialVersion` is present, also for an agent of which
   *   a credential was removed since then
   */
  const changeBinding = <T>(
    { id, credentialVersion }: ChangedAgent,
    change: (tx: Database, columns: z.infer<typeof BindingColumns>) => Promise<T>,
  ): Promise<T | undefined> =>
    db.transaction(async (tx) => {
      // A commit that revokes something is synchronous, whatever the server's default (`AgentStore`).
      await tx.query('set local synchronous_commit = on')
      const { rows } = await tx.query(
        `select ${BindingRow.columns} from agents where id = $1 and status = 'active'
           and ${buildVersionCondition('$2')} for no key update`,
        [id, credentialVersion ?? null],
      )
      return rows[0] && (await change(tx, BindingRow.parse(rows[0])))
    })

  return {
    async bind(id, credentialVersion, beforeCommit) {
      const binding = await changeBinding({ id }, async (tx, { generation, contactBoundSince: since }) => {
        if (since !== undefined) return { since, credentialVersion: generation, isNew: false }
        if (generation !== credentialVersion) return undefined
        const raisedVersion = credentialVersion + 1
        await tx.query('update agents set generation = $2, contact_bound_since = $2 where id = $1', [
          id,
          raisedVersion,
        ])
        await beforeCommit(raisedVersion)
        return { since: raisedVersion, credentialVersion: raisedVersion, isNew: true }
      })
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
