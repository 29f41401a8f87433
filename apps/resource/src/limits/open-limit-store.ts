import {
  createPrefetchingLimitStore,
  createRedisLimitStore,
  type LimitStore,
  type SharedLimitStore,
} from '@plainpath/http'
import { type Redis, withReplyTimeout } from '../open-redis.ts'

/**
 * Creates the limit store that all API instances share through Redis. It prefetches rate-limit tokens. A Redis call without a
 * reply fails after 0.2 s.
 */
export function openLimitStore(redis: Redis, { now }: { now: () => Date }): LimitStore {
  const store = createRedisLimitStore(redis, 'resource:')
  const boundedStore: SharedLimitStore = {
    take: (...args) => withReplyTimeout(store.take(...args)),
    takeUpTo: (...args) => withReplyTimeout(store.takeUpTo(...args)),
    getDailyKey: (day) => withReplyTimeout(store.getDailyKey(day)),
    getCachedDailyKey: store.getCachedDailyKey,
  }
  return createPrefetchingLimitStore(boundedStore, now)
}
