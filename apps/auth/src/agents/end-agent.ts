import type { AgentId } from '@plainpath/domain'
import type { AgentStore } from './agent-store.ts'

export type EndAgent = (id: AgentId, status: 'disabled' | 'deleted') => Promise<boolean>

/**
 * Disables or deletes an agent; when it returns, no token of the agent is active anywhere, not even one that a
 * process issues later because it had not heard (R-LIN, contract §4).
 *
 * The generation is raised beside the tokens before the change commits. Should the commit then fail, the agent
 * lives on with its tokens ended, until the mirrored number expires: closed, and rare.
 *
 * @returns false when there is no such agent, or it is deleted already
 */
export const endAgent =
  (deps: {
    agents: Pick<AgentStore, 'end'>
    raiseGeneration: (id: AgentId, generation: number) => Promise<void>
    forget: (id: AgentId) => void
  }): EndAgent =>
  async (id, status) => {
    const generation = await deps.agents.end(id, status, (raised) => deps.raiseGeneration(id, raised))
    deps.forget(id)
    return generation !== undefined
  }
