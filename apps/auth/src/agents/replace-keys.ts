import type { Agent, AgentId, AgentKey } from '@plainpath/domain'
import type { AgentStore } from './agent-store.ts'

export type ReplaceKeys = (id: AgentId, keys: readonly AgentKey[]) => Promise<Agent | undefined>

/**
 * Gives an agent another set of keys and ends its secrets; its tokens live on. An old key is refused by every process
 * from the answer on, since the assertion store asks the agent's row; an old secret once the process has heard.
 *
 * @returns undefined when the agent is not active any more
 */
export const replaceKeys =
  (deps: { agents: Pick<AgentStore, 'replaceKeys'>; forget: (id: AgentId) => void }): ReplaceKeys =>
  async (id, keys) => {
    try {
      return await deps.agents.replaceKeys(id, keys)
    } finally {
      deps.forget(id)
    }
  }
