import type { AgentId } from '@plainpath/domain'
import type { AgentStore } from './agent-store.ts'

export type EndAgent = (id: AgentId, status: 'disabled' | 'deleted') => Promise<boolean>

/**
 * Disables or deletes an agent; when it returns, no token of the agent is active anywhere, not even one that a
 * process issues later because it had not heard, or that an API knows from memory (R-LIN, docs/revocation).
 *
 * The generation is raised beside the tokens before the change commits, and again after it, since the tokens' store may
 * have lost the number in between and been told the old one. Should the commit fail, the agent lives on with its
 * tokens ended, until the number expires there: closed, and rare. Should the second raise fail, the agent has ended
 * although the caller is told that nobody knows. APIs are told last; of an agent that has ended already they are told
 * again, since that may be what failed the first time.
 *
 * @returns false when there is no such agent, or it is deleted already
 */
export const endAgent =
  (deps: {
    agents: Pick<AgentStore, 'end'>
    raiseGeneration: (id: AgentId, generation: number) => Promise<void>
    announceEnd: (id: AgentId) => Promise<void>
    forget: (id: AgentId) => void
    /** Told once the end is kept, whatever fails after it. */
    onEnded?: (id: AgentId, status: 'disabled' | 'deleted') => void
  }): EndAgent =>
  async (id, status) => {
    try {
      const generation = await deps.agents.end(id, status, (raised) => deps.raiseGeneration(id, raised))
      if (generation !== undefined) {
        deps.onEnded?.(id, status)
        await deps.raiseGeneration(id, generation)
      }
      // Before APIs are told: what they ask from now on must not be answered from memory.
      deps.forget(id)
      await deps.announceEnd(id)
      return generation !== undefined
    } finally {
      deps.forget(id)
    }
  }
