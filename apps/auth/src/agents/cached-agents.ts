import { type AgentId, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentRecord, AgentRepository } from './agent-repository.ts'

/** How long a miss is cached. Short, since the agent may register at another instance meanwhile. */
const UNKNOWN_MS = 2_000
const MAX_AGENTS = 10_000

type Entry = { readonly record: AgentRecord | undefined }

export type CachedAgents = ReturnType<typeof cachedAgents>

/**
 * Caches agents in this process. NOTIFY invalidates entries; the TTL is the fallback.
 *
 * @param store read once for simultaneous loads of the same agent
 * @param options.skipSharedLoads true for a caller that must not wait for another caller's load, such as one with
 *   a reserved connection: the other load may be queued for the pool
 * @param options.clock a monotonic clock in milliseconds
 */
export function cachedAgents(
  store: Pick<AgentRepository, 'find'>,
  options: { skipSharedLoads?: () => boolean; clock?: { now(): number } } = {},
) {
  const { skipSharedLoads = () => false, clock = performance } = options
  const entries = new LRUCache<string, Entry>({ max: MAX_AGENTS, perf: clock, ttlResolution: 0 })
  const inFlight = new Map<string, Promise<AgentRecord | undefined>>()

  function load(id: AgentId): Promise<AgentRecord | undefined> {
    const found: Promise<AgentRecord | undefined> = store
      .find(id)
      .then((record) => {
        // A notification that arrived while the row was read removed this load: the record may be stale.
        if (inFlight.get(id) === found)
          entries.set(id, { record }, { ttl: record ? RULES.agentCachedMs : UNKNOWN_MS })
        return record
      })
      .finally(() => {
        if (inFlight.get(id) === found) inFlight.delete(id)
      })
    inFlight.set(id, found)
    return found
  }

  return {
    async find(id: AgentId): Promise<AgentRecord | undefined> {
      const cached = entries.get(id)
      if (cached) return cached.record
      return (skipSharedLoads() ? undefined : inFlight.get(id)) ?? load(id)
    },
    forget(id: string): void {
      entries.delete(id)
      inFlight.delete(id)
    },
    forgetAll(): void {
      entries.clear()
      inFlight.clear()
    },
  }
}
