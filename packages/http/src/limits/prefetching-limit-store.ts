import { LRUCache } from 'lru-cache'
import { type LimitCount, type LimitPolicy, type LimitStore, limitCount } from './limit-store.ts'

/** A store that can count several requests at once. */
export interface SharedLimitStore extends LimitStore {
  /**
   * Counts up to `most` requests.
   *
   * @returns `taken`, how many it counted: none when it refuses. `remaining` is what is left of the quota after them.
   */
  takeSome(
    key: string,
    policy: LimitPolicy,
    most: number,
    before?: string,
  ): Promise<LimitCount & { readonly taken: number }>
  /** The daily key, if it was read recently. */
  cachedDailyKey(day: string): Buffer | undefined
}

/** Requests that the shared store has counted and this process has not yet used. */
interface Batch {
  left: number
  readonly size: number
  /** Left of the quota in the store, after the batch was fetched. */
  readonly remaining: number
  readonly resetAt: number
  /** When the batch stops counting in the store, and so may no longer be used. */
  readonly until: number
}

const MAX_KEYS = 100_000
/** From this size on, the next batch is fetched before the current one is used up. */
const SMALLEST_PREFETCHED = 4

/**
 * Wraps a shared store so that policies with a `batch` are mostly counted in this process. The first fetch counts one
 * request, each later one twice as many as the one before, up to the batch: callers with few requests are counted exactly,
 * and callers with many cause few calls to the store. The next batch is fetched while the last quarter is used.
 *
 * The store never counts more than the quota. Unused requests of a batch are unavailable to other processes until they
 * expire, and a request counts as of the time when its batch was fetched: the error is at most one batch for each process.
 *
 * Each key has at most one call to the store in flight, and requests that wait for it share its refusal, so a flood of
 * refused requests does not reach the store.
 */
export function prefetchingLimitStore(store: SharedLimitStore, now: () => Date): LimitStore {
  const batches = new LRUCache<string, Batch>({ max: MAX_KEYS })
  const inFlight = new Map<string, Promise<LimitCount>>()

  function currentBatch(name: string): Batch | undefined {
    const batch = batches.get(name)
    return batch && now().getTime() < batch.until ? batch : undefined
  }

  function offer(key: string, policy: LimitPolicy): (() => LimitCount) | undefined {
    const name = batchName(key, policy)
    const batch = currentBatch(name)
    if (!batch || batch.left === 0) return undefined
    return () => {
      batch.left -= 1
      const count = limitCount(true, batch.remaining + batch.left, batch.resetAt - now().getTime())
      if (batch.size >= SMALLEST_PREFETCHED && batch.left * 4 <= batch.size && !inFlight.has(name)) {
        // If the prefetch fails, the request that needs the next batch tries again and reports the failure.
        startFetch(name, () => fetchBatch(name, key, policy)).catch(() => undefined)
      }
      return count
    }
  }

  /** Fetches a batch and stores it. @returns what the store counted */
  async function fetchBatch(
    name: string,
    key: string,
    policy: LimitPolicy,
    before?: string,
  ): Promise<LimitCount> {
    const at = now().getTime()
    const most = Math.max(1, Math.min(policy.batch ?? 1, Math.floor(policy.quota / 10)))
    const size = Math.min(most, (currentBatch(name)?.size ?? 0.5) * 2)
    const missing = size - (currentBatch(name)?.left ?? 0)
    const { taken, ...count } = await store.takeSome(key, policy, missing, before)
    const current = currentBatch(name)
    const rest = current && current.left > 0 ? current : { left: 0, until: at + policy.windowSeconds * 1000 }
    batches.set(name, {
      left: rest.left + taken,
      size,
      remaining: count.remaining,
      resetAt: at + count.resetSeconds * 1000,
      until: rest.until,
    })
    return count
  }

  function startFetch(name: string, fetch: () => Promise<LimitCount>): Promise<LimitCount> {
    const fetching = fetch().finally(() => inFlight.delete(name))
    inFlight.set(name, fetching)
    return fetching
  }

  async function take(key: string, policy: LimitPolicy, before?: string): Promise<LimitCount> {
    if (policy.batch === undefined) return store.take(key, policy, before)
    const name = batchName(key, policy)
    for (;;) {
      const takeOne = offer(key, policy)
      if (takeOne) return takeOne()
      const count = await (inFlight.get(name) ??
        startFetch(name, () => fetchBatch(name, key, policy, before)))
      if (!count.allowed) return count
    }
  }

  return {
    take,
    dailyKey: (day) => store.dailyKey(day),
    local: { cachedDailyKey: (day) => store.cachedDailyKey(day), offer },
  }
}

const batchName = (key: string, policy: LimitPolicy) => `${policy.name}:${key}`
