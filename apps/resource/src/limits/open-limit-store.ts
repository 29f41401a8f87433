import {
  createPrefetchingLimitStore,
  createRedisLimitStore,
  type LimitStore,
  type SharedLimitStore,
} from '@plainpath/http'
import { type Redis, withReplyTimeout } from '../open-redis.ts'

/** Creates the limit store in Redis, which all processes share. A Redis call without a reply fails after 0.2 s. */
export function openLimitStore(redis: Redis, { now }: { now: () => Date }): LimitStore {
  const store = createRedisLimitStore(redis, 'resource:')
  const boundedStore: SharedLimitStore = {
    take: (...args) => withReplyTimeout(store.take(...args)),
    takeUpTo: (...args) => withReplyTimeout(store.takeUpTo(...args)),
    dailyKey: (day) => withReplyTimeout(store.dailyKey(day)),
    cachedDailyKey: store.cachedDailyKey,
  }
  return createPrefetchingLimitStore(boundedStore, now)
}
