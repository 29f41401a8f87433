import { type AgentId, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import { idleExpiry } from './agent-life.ts'
import type { AgentRepository } from './agent-repository.ts'
import type { CachedAgents } from './cached-agents.ts'

/** Writes down that agents are used: at most once a day for each, whatever this process remembers of it. */
export interface UseMarks {
  /**
   * Runs before a token is kept, so that no agent with a token that lives counts as unused.
   *
   * @returns false when the agent is not active any more: then it may have no token
   */
  mark(id: AgentId): Promise<boolean>
  /** When an agent that was marked here ends unless it gets another token. */
  expiryOf(id: string): Date | undefined
}

const MAX_MARKS = 10_000

export function useMarks(deps: {
  cachedAgents: Pick<CachedAgents, 'find'>
  agents: Pick<AgentRepository, 'markUsed'>
  now: () => Date
}): UseMarks {
  const marks = new LRUCache<string, Date>({ max: MAX_MARKS })
  const underWay = new Map<string, Promise<boolean>>()

  async function write(id: AgentId, now: Date): Promise<boolean> {
    const isActive = await deps.agents.markUsed(id, now)
    if (isActive) marks.set(id, now)
    return isActive
  }

  return {
    async mark(id) {
      const now = deps.now()
      const agent = (await deps.cachedAgents.find(id))?.agent
      const known = later(agent?.lastUsedAt, marks.get(id))
      if (known && now.getTime() - known.getTime() < RULES.useRecordedMs) {
        marks.set(id, known)
        return true
      }
      const writing = underWay.get(id) ?? write(id, now).finally(() => underWay.delete(id))
      underWay.set(id, writing)
      return await writing
    },
    expiryOf(id) {
      const lastUsedAt = marks.get(id)
      return lastUsedAt && idleExpiry({ registeredAt: lastUsedAt, lastUsedAt })
    },
  }
}

const later = (one: Date | undefined, other: Date | undefined) =>
  one && other ? (one > other ? one : other) : (one ?? other)
