import type { AgentId } from '@plainpath/domain'
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import type { AuthEvents } from '../events.ts'

const Binding = z.object({ generation: z.int(), contactBoundSince: z.int().optional() })
const BindingRow = rowReader(Binding)

export type ContactBindingStore = ReturnType<typeof contactBindingStore>

/** Stores which agents get `contact:write` with bound tokens only: `contact_bound_since` of their rows. */
export function contactBindingStore(db: Pool, events: AuthEvents) {
  /** Runs a change under the lock of the row. @returns undefined for an agent that is unknown or not active */
  const change = <T>(
    id: AgentId,
    work: (tx: Database, agent: z.infer<typeof Binding>) => Promise<T>,
  ): Promise<T | undefined> =>
    db.transaction(async (tx) => {
      await tx.query('set local synchronous_commit = on')
      const { rows } = await tx.query(
        `select ${BindingRow.columns} from agents where id = $1 and status = 'active' for no key update`,
        [id],
      )
      return rows[0] && (await work(tx, BindingRow.parse(rows[0])))
    })

  return {
    /**
     * Makes `contact:write` need bound tokens, and raises the generation, unless the agent has lost a credential since
     * it was authenticated at `generation`. `announce` runs before the commit; if it throws, nothing changes.
     *
     * @returns the generation that this began with, now or earlier, and the present one; undefined when nothing is bound
     */
    async bind(
      id: AgentId,
      generation: number,
      announce: (generation: number) => Promise<void>,
    ): Promise<{ readonly since: number; readonly generation: number } | undefined> {
      const bound = await change(id, async (tx, agent) => {
        const { contactBoundSince: since } = agent
        if (since !== undefined) return { since, generation: agent.generation, isNew: false }
        if (agent.generation !== generation) return undefined
        const raised = generation + 1
        await tx.query('update agents set generation = $2, contact_bound_since = $2 where id = $1', [
          id,
          raised,
        ])
        await announce(raised)
        return { since: raised, generation: raised, isNew: true }
      })
      if (bound?.isNew) events.emit('contact-bound', { client_id: id })
      return bound
    },

    /** Ends what `bind` began. @returns false unless the agent is active */
    async unbind(id: AgentId): Promise<boolean> {
      const wasBound = await change(id, async (tx, { contactBoundSince }) => {
        if (contactBoundSince === undefined) return false
        await tx.query('update agents set contact_bound_since = null where id = $1', [id])
        return true
      })
      if (wasBound) events.emit('contact-unbound', { client_id: id })
      return wasBound !== undefined
    },
  }
}
