import type { LimitRedis } from '@plainpath/http'
import type { Redis } from 'ioredis'

/** Our connection as the limits use it. */
export const limitRedis = (redis: Redis): LimitRedis => ({
  eval: (script, keys, args) => redis.eval(script, keys.length, ...keys, ...args),
  get: (key) => redis.get(key),
  setIfAbsent: (key, value, seconds) => redis.set(key, value, 'EX', seconds, 'NX'),
})
