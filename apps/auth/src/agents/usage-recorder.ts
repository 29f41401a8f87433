import { type AgentId, createByteBoundOptions, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentCache } from './agent-cache.ts'
import type { AgentStore } from './agent-store.ts'
import { computeIdleExpiry } from './describe-agent.ts'

/** Enough for the last uses of about 10,000 registered agents (estimated by `createByteBoundOptions`). */
const MAX_REMEMBERED_BYTES = 2_500_000

/**
 * Records when each agent was last used, about once a day, so that issuing a token seldom writes to the database. A use is the
 * issue of a token to the agent.
 */
export interface UsageRecorder {
  /**
   * Records a use. Call this before a token is stored, so that an agent with a valid token never expires.
   *
   * @returns false if the agent is no longer active and must not receive the token; this is checked only when a use is
   *   written
   */
  recordUse(id: AgentId): Promise<boolean>
  /** Estimates when the agent expires if it receives no further token. Undefined if this process remembers no use of it. */
  findExpiry(id: string): Date | undefined
}

export function createUsageRecorder(deps: {
  agentCache: Pick<AgentCache, 'find'>
  agents: Pick<AgentStore, 'markUsed'>
  now: () => Date
}): UsageRecorder {
  const lastUses = new LRUCache<string, Date>(createByteBoundOptions(MAX_REMEMBERED_BYTES))
  const writesInFlight = new Map<string, Promise<boolean>>()

  async function markUsed(id: AgentId, now: Date): Promise<boolean> {
    const isActive = await deps.agents.markUsed(id, now)
    if (isActive) lastUses.set(id, now)
    return isActive
  }

  return {
    async recordUse(id) {
      const now = deps.now()
      const agent = (await deps.agentCache.find(id))?.agent
      const rememberedUse = lastUses.get(id)
      // An agent whose id is a URL may have been removed and stored again since the remembered use. Its new row does not record
      // that use. Without a write, the agent would expire as never used.
      const isUseOfOlderRow = rememberedUse && agent && rememberedUse < agent.registeredAt
      const lastUse = pickLater(agent?.lastUsedAt, isUseOfOlderRow ? undefined : rememberedUse)
      if (lastUse && now.getTime() - lastUse.getTime() < RULES.useRecordedMs) {
        // `findExpiry` needs this if another instance recorded the use.
        lastUses.set(id, lastUse)
        return true
      }
      const pendingWrite =
        writesInFlight.get(id) ?? markUsed(id, now).finally(() => writesInFlight.delete(id))
      writesInFlight.set(id, pendingWrite)
      return await pendingWrite
    },
    findExpiry(id) {
      const lastUsedAt = lastUses.get(id)
      // `registeredAt` is required, but has no effect if `lastUsedAt` is set.
      return lastUsedAt && computeIdleExpiry({ registeredAt: lastUsedAt, lastUsedAt })
    },
  }
}

function pickLater(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (!a || !b) return a ?? b
  return a > b ? a : b
}
