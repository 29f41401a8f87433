import { createMemoryLimitStore } from '../src/limits/limit-store.ts'
import { BATCHES_PER_REMAINING_QUOTA, type SharedLimitStore } from '../src/limits/prefetching-limit-store.ts'

/**
 * Creates a shared store in memory, which several prefetching stores can use. It replaces the Redis store in tests and
 * simulations, and makes batches of the same size. `getCachedDailyKey` never returns a key.
 *
 * @param onTakeUpTo called at each call of `takeUpTo`, for example to count the calls. If it throws, the call fails
 */
export function createSharedLimitStore(now: () => Date, onTakeUpTo: () => void): SharedLimitStore {
  const memoryStore = createMemoryLimitStore(now)
  return {
    ...memoryStore,
    getCachedDailyKey: () => undefined,
    async takeUpTo(key, policy, maxCount, yesterdaysKey) {
      onTakeUpTo()
      const takeOne = () => memoryStore.take(key, policy, yesterdaysKey)
      const firstCount = await takeOne()
      if (!firstCount.allowed) return { ...firstCount, taken: 0 }
      // The first request is already counted, so the remaining quota was one more before it.
      const maxBatchSize = Math.floor((firstCount.remaining + 1) / BATCHES_PER_REMAINING_QUOTA)
      // All further requests are counted in the same tick. A real store counts the whole batch atomically.
      const otherCounts = await Promise.all(
        Array.from({ length: Math.max(0, Math.min(maxCount, maxBatchSize) - 1) }, takeOne),
      )
      const counts = [firstCount, ...otherCounts.filter(({ allowed }) => allowed)]
      return { ...(counts.at(-1) ?? firstCount), taken: counts.length }
    },
  }
}
