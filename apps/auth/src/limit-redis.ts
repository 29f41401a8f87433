import { type LimitRedis, type LimitStore, redisLimitStore, takeAhead } from '@plainpath/http'
import type { Redis } from 'ioredis'
import { runRedisScript } from './tokens/run-redis-script.ts'

/** Counts for all processes together, on our connection. @param prefix of every key, such as `auth:` */
export const sharedLimits = (redis: Redis, prefix: string, now: () => Date): LimitStore =>
  takeAhead(redisLimitStore(limitRedis(redis), prefix), now)

const limitRedis = (redis: Redis): LimitRedis => ({
  eval: (script, keys, args) => runRedisScript(redis, script, keys, args),
  get: (key) => redis.get(key),
  setIfAbsent: (key, value, seconds) => redis.set(key, value, 'EX', seconds, 'NX'),
})
