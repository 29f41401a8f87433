import { createByteBoundOptions } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import { type LimitCount, type LimitPolicy, type LimitStore, toLimitCount } from './limit-store.ts'

/** A store that can count several requests in one call. */
export interface SharedLimitStore extends LimitStore {
  /**
   * Counts one request, or up to `maxCount` of them while they are at most an eighth of the remaining quota
   * (`BATCHES_PER_REMAINING_QUOTA`). The rest stays for the other processes that count the same key.
   *
   * @param yesterdaysKey yesterday's key for the same subject
   * @returns the state of the limit, with the number of counted requests (`taken`), which is 0 if the quota is used up
   */
  takeUpTo(
    key: string,
    policy: LimitPolicy,
    maxCount: number,
    yesterdaysKey?: string,
  ): Promise<LimitCount & { readonly taken: number }>
  /** Returns the daily key if it was read recently. */
  getCachedDailyKey(day: string): Buffer | undefined
}

/** Requests that the shared store has counted and that this process has not used yet. */
interface Batch {
  unusedCount: number
  /** The intended size. The store may have counted fewer requests. */
  readonly size: number
  /** The remaining quota in the store after the batch was fetched. */
  readonly remaining: number
  /** When the store frees some quota, in ms. */
  readonly resetAt: number
  /** The earliest time, in ms, at which the batch may stop counting in the store. It must not be used after that. */
  readonly expiresAt: number
}

/** Enough for the batches of about 100,000 keys (estimated by `createByteBoundOptions`). */
const MAX_BATCHES_BYTES = 33_000_000
/** The shared store makes a batch at most the remaining quota divided by this number, but at least one request. */
export const BATCHES_PER_REMAINING_QUOTA = 8
/** After a batch of at least this size, the next one is prefetched. */
const MIN_PREFETCH_SIZE = 4

/**
 * Wraps a shared store to count policies with a `batch` mostly in this process. The first batch is one request, and
 * each later one is twice as large, up to `batch` or a tenth of the quota. Callers with few requests are therefore
 * counted almost exactly, and callers with many cause few store calls. The store makes batches smaller again while
 * little of the quota remains, so the processes do not keep it from each other. Once batches are large enough, the next
 * one is prefetched when at most a quarter of the current one is unused.
 *
 * The store never counts more than the quota. Other processes cannot use the unused requests of a batch until they
 * expire, and a request counts from the time when its batch was fetched. The error is at most one batch per process.
 *
 * Each key of such a policy has at most one store call in flight. Requests that wait for the call share its refusal, so
 * a burst of refused requests causes few calls.
 */
export function createPrefetchingLimitStore(store: SharedLimitStore, now: () => Date): LimitStore {
  const batches = new LRUCache<string, Batch>(createByteBoundOptions(MAX_BATCHES_BYTES))
  const inFlight = new Map<string, Promise<LimitCount>>()

  function findCurrentBatch(key: string, nowMs: number): Batch | undefined {
    const batch = batches.get(key)
    return batch && nowMs < batch.expiresAt ? batch : undefined
  }

  function offer(key: string, policy: LimitPolicy, yesterdaysKey?: string): (() => LimitCount) | undefined {
    const nowMs = now().getTime()
    const batch = findCurrentBatch(key, nowMs)
    if (!batch || batch.unusedCount <= 0) return undefined
    return () => {
      batch.unusedCount -= 1
      const count = toLimitCount(true, batch.remaining + batch.unusedCount, batch.resetAt - nowMs)
      if (batch.size >= MIN_PREFETCH_SIZE && batch.unusedCount * 4 <= batch.size && !inFlight.has(key)) {
        // If the prefetch fails, the next request that needs a batch tries again, and reports a failure.
        startFetch(key, policy, yesterdaysKey).catch(() => undefined)
      }
      return count
    }
  }

  /** Fetches a batch, stores it, and returns the store's count. */
  async function fetchBatch(key: string, policy: LimitPolicy, yesterdaysKey?: string): Promise<LimitCount> {
    const requestedAt = now().getTime()
    const maxSize = Math.max(1, Math.min(policy.batch ?? 1, Math.floor(policy.quota / 10)))
    const previousBatch = findCurrentBatch(key, requestedAt)
    // Without a previous batch, 0.5 makes the first batch one request.
    const size = Math.min(maxSize, (previousBatch?.size ?? 0.5) * 2)
    const missingCount = size - (previousBatch?.unusedCount ?? 0)
    const { taken, ...count } = await store.takeUpTo(key, policy, missingCount, yesterdaysKey)
    const currentBatch = findCurrentBatch(key, now().getTime())
    // The store counted the unused requests earlier than the new ones, so the whole batch expires when they do.
    const unusedBatch =
      currentBatch && currentBatch.unusedCount > 0
        ? currentBatch
        : { unusedCount: 0, expiresAt: requestedAt + policy.windowSeconds * 1000 }
    batches.set(key, {
      unusedCount: unusedBatch.unusedCount + taken,
      size,
      remaining: count.remaining,
      resetAt: requestedAt + count.resetSeconds * 1000,
      expiresAt: unusedBatch.expiresAt,
    })
    return count
  }

  function startFetch(key: string, policy: LimitPolicy, yesterdaysKey?: string): Promise<LimitCount> {
    const pendingCount = fetchBatch(key, policy, yesterdaysKey).finally(() => inFlight.delete(key))
    inFlight.set(key, pendingCount)
    return pendingCount
  }

  async function takeFromBatch(
    key: string,
    policy: LimitPolicy,
    yesterdaysKey?: string,
  ): Promise<LimitCount> {
    // After a fetch, other callers may use up the batch before this one continues.
    for (;;) {
      const countOne = offer(key, policy, yesterdaysKey)
      if (countOne) return countOne()
      const count = await (inFlight.get(key) ?? startFetch(key, policy, yesterdaysKey))
      if (!count.allowed) return count
    }
  }

  return {
    take: (key, policy, yesterdaysKey) =>
      policy.batch === undefined
        ? store.take(key, policy, yesterdaysKey)
        : takeFromBatch(key, policy, yesterdaysKey),
    getDailyKey: (day) => store.getDailyKey(day),
    local: { getCachedDailyKey: (day) => store.getCachedDailyKey(day), offer },
  }
}
