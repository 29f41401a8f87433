import { randomBytes } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { PARTS_PER_WINDOW, toLimitCount } from './limit-store.ts'
import { BATCHES_PER_REMAINING_QUOTA, type SharedLimitStore } from './prefetching-limit-store.ts'

/**
 * A Redis client with the commands that the limits need, such as an adapter for `ioredis` or `redis`. Requests wait for
 * the client, so it must fail fast: no queue while it is offline, at most 0.2 s for a reply, and at most 1 s to
 * connect. It must never give up reconnecting.
 *
 * For `ioredis`, set `enableOfflineQueue: false, connectTimeout: 1000, maxRetriesPerRequest: 0`, and end each command with
 * `startTimeout`. Its own `commandTimeout` also rejects commands whose replies have arrived but were not read yet.
 *
 * For `redis`, set `disableOfflineQueue: true, socket: { connectTimeout: 1000 }`, and race each command against a timer,
 * because the client's own timeout does not cover the wait for a reply.
 */
export interface LimitRedisClient {
  /** Runs a Lua script, as `EVAL` does. The Redis user also needs permission for `TIME`, which the script calls. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  get(key: string): Promise<string | null>
  /** Sets the key unless it exists. */
  setIfAbsent(key: string, value: string, ttlSeconds: number): Promise<unknown>
}

/**
 * Counts requests as `takeFromWindow` in `limit-store.ts` does, but several at once, atomically, and by Redis's clock,
 * which all processes share. Change both together.
 *
 * KEYS: the key and, optionally, yesterday's key for the same subject. ARGV: the quota, the window in ms, and the
 * maximum number of requests to count. Reply: the number of counted requests, the used quota, and the ms until the
 * oldest part expires.
 *
 * The value of a key is a JSON array of parts, oldest first. A part is the array [firstAt, lastAt, count], with times
 * in ms. The key expires together with its newest part.
 */
const TAKE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local quota, window, max_count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used, oldest = 0, now
-- Returns the unexpired parts of a key, and includes them in used and oldest.
local function count_unexpired_parts(key)
  local parts = {}
  for _, part in ipairs(cjson.decode(redis.call('GET', key) or '[]')) do
    local last = math.min(part[2], now)
    if last + window > now then
      table.insert(parts, { part[1], last, part[3] })
      used = used + part[3]
      oldest = math.min(oldest, last)
    end
  end
  return parts
end
local parts = count_unexpired_parts(KEYS[1])
if KEYS[2] then count_unexpired_parts(KEYS[2]) end
local remaining = quota - used
local share = math.max(1, math.floor(remaining / ${BATCHES_PER_REMAINING_QUOTA}))
local taken = math.max(0, math.min(max_count, share, remaining))
local newest = parts[#parts]
if taken > 0 and newest and now < newest[1] + window / ${PARTS_PER_WINDOW} then
  newest[2], newest[3] = now, newest[3] + taken
elseif taken > 0 then
  newest = { now, now, taken }
  table.insert(parts, newest)
end
if newest then redis.call('SET', KEYS[1], cjson.encode(parts), 'PX', newest[2] + window - now) end
return { taken, used + taken, oldest + window - now }`

const TakeReply = z.tuple([z.int().min(0), z.int(), z.int()])

/** How long a daily key is cached. If Redis loses a key, all processes agree on a new one within this time. */
const DAILY_KEY_CACHE_MS = 60_000

/**
 * Creates a store that counts requests in Redis, for all processes together.
 *
 * @param prefix the beginning of every key, such as `auth:`. The app's Redis user can access no other keys
 */
export function createRedisLimitStore(redis: LimitRedisClient, prefix: string): SharedLimitStore {
  // Room for today's and yesterday's key. If one is evicted, it is read from Redis again.
  const dailyKeys = new LRUCache<string, Buffer>({ max: 2, ttl: DAILY_KEY_CACHE_MS })
  const takeUpTo: SharedLimitStore['takeUpTo'] = async (
    key,
    { name, quota, windowSeconds },
    maxCount,
    yesterdaysKey,
  ) => {
    const keys = [key, ...(yesterdaysKey === undefined ? [] : [yesterdaysKey])]
    const reply = await redis.eval(
      TAKE_SCRIPT,
      keys.map((limitKey) => `${prefix}limit:${name}:${limitKey}`),
      [String(quota), String(windowSeconds * 1000), String(maxCount)],
    )
    const [taken, used, resetMs] = TakeReply.parse(reply)
    return { taken, ...toLimitCount(taken > 0, quota - used, resetMs) }
  }
  return {
    takeUpTo,
    getCachedDailyKey: (day) => dailyKeys.get(day),
    async take(key, policy, yesterdaysKey) {
      const { allowed, remaining, resetSeconds } = await takeUpTo(key, policy, 1, yesterdaysKey)
      return { allowed, remaining, resetSeconds }
    },
    async getDailyKey(day) {
      const cachedKey = dailyKeys.get(day)
      if (cachedKey) return cachedKey
      const redisKey = `${prefix}limit-key:${day}`
      await redis.setIfAbsent(redisKey, randomBytes(32).toString('base64url'), RULES.limitKeyMs / 1000)
      const text = await redis.get(redisKey)
      if (text === null) throw new Error('Redis lost the daily key right after it was set')
      const key = Buffer.from(text, 'base64url')
      dailyKeys.set(day, key)
      return key
    },
  }
}
