import { type AgentId, RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import type { AgentRecord, AgentRepository } from './agent-repository.ts'

/** Short, since an agent may register at another instance right after somebody guessed its id here. */
const UNKNOWN_MS = 2_000
const MAX_AGENTS = 10_000

type Entry = { readonly record: AgentRecord | undefined }

export type CachedAgents = ReturnType<typeof cachedAgents>

/**
 * Agents as this process knows them. Forgetting is told by NOTIFY; the time to live is the backstop.
 *
 * @param store is asked once for any number of simultaneous look-ups of one agent
 * @param options.asksAlone whether a look-up must not wait for those of others
 * @param options.clock milliseconds that only rise
 */
export function cachedAgents(
  store: Pick<AgentRepository, 'find'>,
  options: { asksAlone?: () => boolean; clock?: { now(): number } } = {},
) {
  const { asksAlone = () => false, clock = performance } = options
  const entries = new LRUCache<string, Entry>({ max: MAX_AGENTS, perf: clock, ttlResolution: 0 })
  const underWay = new Map<string, Promise<AgentRecord | undefined>>()

  function lookUp(id: AgentId): Promise<AgentRecord | undefined> {
    const found: Promise<AgentRecord | undefined> = store
      .find(id)
      .then((record) => {
        // A notice that came while the row was being read removed this look-up: what it read may be old.
        if (underWay.get(id) === found)
          entries.set(id, { record }, { ttl: record ? RULES.agentCachedMs : UNKNOWN_MS })
        return record
      })
      .finally(() => {
        if (underWay.get(id) === found) underWay.delete(id)
      })
    underWay.set(id, found)
    return found
  }

  return {
    async find(id: AgentId): Promise<AgentRecord | undefined> {
      const known = entries.get(id)
      if (known) return known.record
      return (asksAlone() ? undefined : underWay.get(id)) ?? lookUp(id)
    },
    forget(id: string): void {
      entries.delete(id)
      underWay.delete(id)
    },
    forgetAll(): void {
      entries.clear()
      underWay.clear()
    },
  }
}
