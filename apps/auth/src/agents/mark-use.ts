import { type AgentId, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentRepository } from './agent-repository.ts'
import type { CachedAgents } from './cached-agents.ts'
import { idleExpiry } from './describe-agent.ts'

export type UseMarks = ReturnType<typeof useMarks>

const MAX_MARKS = 10_000

/** Writes down that agents are used: at most once a day for each, whatever this process remembers of it. */
export function useMarks(deps: {
  cachedAgents: Pick<CachedAgents, 'find'>
  agents: Pick<AgentRepository, 'markUsed'>
  now: () => Date
}) {
  const marks = new LRUCache<string, Date>({ max: MAX_MARKS })
  const underWay = new Map<string, Promise<boolean>>()

  async function write(id: AgentId, now: Date): Promise<boolean> {
    const isActive = await deps.agents.markUsed(id, now)
    if (isActive) marks.set(id, now)
    return isActive
  }

  return {
    /**
     * Runs before a token is kept, so that no agent with a token that lives counts as unused.
     *
     * @returns false when the agent is not active any more: then it may have no token
     */
    async mark(id: AgentId): Promise<boolean> {
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
    /** When an agent that was marked here ends unless it gets another token. */
    expiryOf(id: string): Date | undefined {
      const lastUsedAt = marks.get(id)
      return lastUsedAt && idleExpiry({ registeredAt: lastUsedAt, lastUsedAt })
    },
  }
}

const later = (one: Date | undefined, other: Date | undefined) =>
  one && other ? (one > other ? one : other) : (one ?? other)
