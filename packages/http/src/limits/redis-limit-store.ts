import { createHash, randomBytes } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { limitCount, PARTS_OF_A_WINDOW } from './limit-store.ts'
import type { SharedLimitStore } from './prefetching-limit-store.ts'

/**
 * The commands that the limits need, independent of the two Redis clients in use. Every request waits for the client, so it
 * must fail fast: no queue while it is offline, at most 0.2 s for a reply, at most 1 s to connect, and unlimited attempts to
 * reconnect. The options are `enableOfflineQueue: false, commandTimeout: 200, connectTimeout: 1000, maxRetriesPerRequest: 0` of `ioredis`,
 * and `disableOfflineQueue: true, commandOptions: { timeout: 200 }, socket: { connectTimeout: 1000 }` of `redis`,
 * whose own timeout does not cover the wait for a reply, so race each command against a timer.
 */
export interface LimitRedis {
  /** `EVAL`; the script also needs permission for `TIME`. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  get(key: string): Promise<string | null>
  /** Sets the key unless it exists. */
  setIfAbsent(key: string, value: string, ttlSeconds: number): Promise<unknown>
}

/**
 * `takeFromWindow` of `limit-store.ts` as one atomic step, by the clock of Redis, which all processes share. KEYS: the key,
 * and optionally an earlier key that also counts; ARGV: quota, window in ms, the most to count. A key expires together with
 * the last request that it counts.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local quota, window, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used, oldest = 0, now
local function unexpired(key)
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
local parts = unexpired(KEYS[1])
if KEYS[2] then unexpired(KEYS[2]) end
local taken = math.max(0, math.min(most, quota - used))
local newest = parts[#parts]
if taken > 0 and newest and now < newest[1] + window / ${PARTS_OF_A_WINDOW} then
  newest[2], newest[3] = now, newest[3] + taken
elseif taken > 0 then
  newest = { now, now, taken }
  table.insert(parts, newest)
end
if newest then redis.call('SET', KEYS[1], cjson.encode(parts), 'PX', newest[2] + window - now) end
return { taken, used + taken, oldest + window - now }`

const Taken = z.tuple([z.int().min(0), z.int(), z.int()])

/** How long the daily key is cached. After Redis lost it, all processes agree on a new key within this time. */
const DAILY_KEY_MS = 60_000

/**
 * Creates a store that counts requests in Redis, for all processes together.
 *
 * @param prefix of every key, such as `auth:`; the Redis user of the app has access to no others
 */
export function redisLimitStore(redis: LimitRedis, prefix: string): SharedLimitStore {
  const dailyKeys = new LRUCache<string, Buffer>({ max: 2, ttl: DAILY_KEY_MS })
  const takeSome: SharedLimitStore['takeSome'] = async (
    key,
    { name, quota, windowSeconds },
    most,
    before,
  ) => {
    const keys = [key, ...(before === undefined ? [] : [before])]
    const reply = await redis.eval(
      TAKE,
      keys.map((each) => `${prefix}limit:${name}:${each}`),
      [String(quota), String(windowSeconds * 1000), String(most)],
    )
    const [taken, used, resetMs] = Taken.parse(reply)
    return { taken, ...limitCount(taken > 0, quota - used, resetMs) }
  }
  return {
    takeSome,
    cachedDailyKey: (day) => dailyKeys.get(day),
    async take(key, policy, before) {
      const { allowed, remaining, resetSeconds } = await takeSome(key, policy, 1, before)
      return { allowed, remaining, resetSeconds }
    },
    async dailyKey(day) {
      const cached = dailyKeys.get(day)
      if (cached) return cached
      const name = `${prefix}limit-key:${day}`
      await redis.setIfAbsent(name, randomBytes(32).toString('base64url'), RULES.limitKeyMs / 1000)
      const text = await redis.get(name)
      if (text === null) throw new Error('Redis lost the daily key right after it was set')
      const key = Buffer.from(text, 'base64url')
      dailyKeys.set(day, key)
      return key
    },
  }
}

const DIGESTS = new Map<string, string>()

/**
 * Runs a Redis script by its SHA-1 digest, and sends the script itself only to a server that has not cached it.
 *
 * @param byDigest `EVALSHA`
 * @param inFull `EVAL`
 */
export async function runScript<T>(
  script: string,
  byDigest: (digest: string) => Promise<T>,
  inFull: () => Promise<T>,
): Promise<T> {
  const digest = DIGESTS.get(script) ?? createHash('sha1').update(script).digest('hex')
  DIGESTS.set(script, digest)
  try {
    return await byDigest(digest)
  } catch (error) {
    // NOSCRIPT: the server has not cached the script and has run nothing.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return inFull()
    throw error
  }
}
