import { createMemoryLimitStore } from '../src/limits/limit-store.ts'
import type { SharedLimitStore } from '../src/limits/prefetching-limit-store.ts'

/**
 * Creates a shared store in memory, for several prefetching stores.
 *
 * @param onTakeUpTo is called at each call of `takeUpTo`, for example to count it. If it throws, the call fails
 */
export function createSharedLimitStore(now: () => Date, onTakeUpTo: () => void): SharedLimitStore {
  const memoryStore = createMemoryLimitStore(now)
  return {
    ...memoryStore,
    cachedDailyKey: () => undefined,
    async takeUpTo(key, policy, maxCount, yesterdaysKey) {
      onTakeUpTo()
      // All are counted in the same tick, because a real store counts atomically.
      const counts = await Promise.all(
        Array.from({ length: maxCount }, () => memoryStore.take(key, policy, yesterdaysKey)),
      )
      const allowedCounts = counts.filter(({ allowed }) => allowed)
      return { ...(allowedCounts.at(-1) ?? counts[0])!, taken: allowedCounts.length }
    },
  }
}
