import { type AgentId, createByteBoundOptions, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentCache } from './agent-cache.ts'
import type { AgentStore } from './agent-store.ts'
import { computeIdleExpiry } from './describe-agent.ts'

/** Enough for the last uses of about 10,000 registered agents (estimated by `createByteBoundOptions`). */
const MAX_REMEMBERED_BYTES = 2_500_000

/** Records when each agent was last used, about once a day, so that issuing a token seldom writes to the database. */
export interface UsageRecorder {
  /**
   * Records a use. Call this before a token is stored, so that clients with an unexpired token are never expired.
   *
   * @returns false if the agent is no longer active and must not receive the token; this is checked only when a use is
   *   written
   */
  recordUse(id: AgentId): Promise<boolean>
  /** Returns when the agent expires if it receives no further token; undefined if this process remembers no use of the agent. */
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
      // A URL client may have been removed and stored again since the remembered use. The new row does not record that use, so
      // without a write it would expire as never used.
      const isOutdated = rememberedUse && agent && rememberedUse < agent.registeredAt
      const lastUse = pickLatest(agent?.lastUsedAt, isOutdated ? undefined : rememberedUse)
      if (lastUse && now.getTime() - lastUse.getTime() < RULES.useRecordedMs) {
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
      // `registeredAt` is required, but has no effect here.
      return lastUsedAt && computeIdleExpiry({ registeredAt: lastUsedAt, lastUsedAt })
    },
  }
}

function pickLatest(one: Date | undefined, other: Date | undefined): Date | undefined {
  if (!one || !other) return one ?? other
  return one > other ? one : other
}
