import { type AgentId, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentRepository } from './agent-repository.ts'
import type { CachedAgents } from './cached-agents.ts'
import { idleExpiry } from './describe-agent.ts'

export type UseMarks = ReturnType<typeof useMarks>

const MAX_MARKS = 10_000

/** Records when agents were last used, at most once a day for each, so that issuing a token seldom writes to the database. */
export function useMarks(deps: {
  cachedAgents: Pick<CachedAgents, 'find'>
  agents: Pick<AgentRepository, 'markUsed'>
  now: () => Date
}) {
  const marks = new LRUCache<string, Date>({ max: MAX_MARKS })
  const inFlight = new Map<string, Promise<boolean>>()

  async function write(id: AgentId, now: Date): Promise<boolean> {
    const isActive = await deps.agents.markUsed(id, now)
    if (isActive) marks.set(id, now)
    return isActive
  }

  return {
    /**
     * Records the use. Runs before a token is stored, so that clients with an unexpired token are never expired.
     *
     * @returns false when the agent is not active any more: it must not get the token
     */
    async mark(id: AgentId): Promise<boolean> {
      const now = deps.now()
      const agent = (await deps.cachedAgents.find(id))?.agent
      const lastMark = later(agent?.lastUsedAt, marks.get(id))
      if (lastMark && now.getTime() - lastMark.getTime() < RULES.useRecordedMs) {
        marks.set(id, lastMark)
        return true
      }
      const writing = inFlight.get(id) ?? write(id, now).finally(() => inFlight.delete(id))
      inFlight.set(id, writing)
      return await writing
    },
    /** When an agent that this process marked expires, unless it gets another token. */
    findExpiry(id: string): Date | undefined {
      const lastUsedAt = marks.get(id)
      return lastUsedAt && idleExpiry({ registeredAt: lastUsedAt, lastUsedAt })
    },
  }
}

const later = (one: Date | undefined, other: Date | undefined) =>
  one && other ? (one > other ? one : other) : (one ?? other)
