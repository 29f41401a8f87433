import { type AgentId, createByteBoundOptions, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentRecord, AgentStore } from './agent-store.ts'

/** How long a miss is cached. It is short, because nothing invalidates it when the agent registers at another instance. */
const MISS_TTL_MS = 2_000
/** Enough for about 10,000 agents with a secret and a short name (estimated by `createByteBoundOptions`). */
const MAX_CACHED_BYTES = 16_000_000

/** Wraps the record, so that a cached miss differs from an agent that is not cached. */
type Entry = { readonly record: AgentRecord | undefined }

/** Caches agents in this process. NOTIFY invalidates entries; the TTL is the fallback. */
export interface AgentCache {
  /**
   * Returns an agent in any status, or undefined if there is none. The result may be stale until the entry is invalidated or
   * expires.
   */
  find(id: AgentId): Promise<AgentRecord | undefined>
  invalidate(id: string): void
  /** For a new connection to PostgreSQL: notifications may have been missed before it was open. */
  invalidateAll(): void
}

/**
 * Creates the cache. Simultaneous loads of the same agent read the store once, unless `skipSharedLoads` returns true.
 *
 * @param options.skipSharedLoads returns true for a caller that must not wait for another caller's load, such as one
 *   with a reserved connection: the other load may be queued for the pool
 * @param options.clock a monotonic clock in milliseconds
 */
export function createAgentCache(
  store: Pick<AgentStore, 'find'>,
  options: { skipSharedLoads?: () => boolean; clock?: { now(): number } } = {},
): AgentCache {
  const { skipSharedLoads = () => false, clock = performance } = options
  const entries = new LRUCache<string, Entry>({
    ...createByteBoundOptions(MAX_CACHED_BYTES),
    perf: clock,
    // By default, lru-cache reads the clock at most once a millisecond.
    ttlResolution: 0,
  })
  const loadsInFlight = new Map<string, Promise<AgentRecord | undefined>>()

  function load(id: AgentId): Promise<AgentRecord | undefined> {
    const loading: Promise<AgentRecord | undefined> = store
      .find(id)
      .then((record) => {
        // If the agent was invalidated while its row was read, this load is no longer in `loadsInFlight`, and the record
        // may be stale.
        if (loadsInFlight.get(id) === loading)
          entries.set(id, { record }, { ttl: record ? RULES.agentCachedMs : MISS_TTL_MS })
        return record
      })
      .finally(() => {
        if (loadsInFlight.get(id) === loading) loadsInFlight.delete(id)
      })
    loadsInFlight.set(id, loading)
    return loading
  }

  return {
    async find(id) {
      const cached = entries.get(id)
      if (cached) return cached.record
      return (skipSharedLoads() ? undefined : loadsInFlight.get(id)) ?? load(id)
    },
    invalidate(id) {
      entries.delete(id)
      loadsInFlight.delete(id)
    },
    invalidateAll() {
      entries.clear()
      loadsInFlight.clear()
    },
  }
}
