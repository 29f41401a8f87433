import {
  type LimitStore,
  prefetchingLimitStore,
  redisLimitStore,
  type SharedLimitStore,
} from '@plainpath/http'
import { inTime, type Redis } from '../open-redis.ts'

/** Counts limits in Redis for all processes together. No call takes longer than 0.2 s. */
export function openLimitStore(redis: Redis, { now }: { now: () => Date }): LimitStore {
  const store = redisLimitStore(redis, 'resource:')
  const inTimeOnly: SharedLimitStore = {
    take: (...taking) => inTime(store.take(...taking)),
    takeSome: (...taking) => inTime(store.takeSome(...taking)),
    dailyKey: (day) => inTime(store.dailyKey(day)),
    cachedDailyKey: store.cachedDailyKey,
  }
  return prefetchingLimitStore(inTimeOnly, now)
}
