import { createHash, randomBytes } from 'node:crypto'
import { RULES } from '@plainpath/domain'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { limitCount, PARTS_OF_A_WINDOW } from './limit-store.ts'
import type { SharedLimitStore } from './take-ahead.ts'

/**
 * What both Redis clients can do, in the words of neither. The client must fail fast, since each request waits for it:
 * no queue while it is offline, at most 0.2 s for an answer, at most 1 s to connect, reconnecting for ever. Those
 * are `enableOfflineQueue: false, commandTimeout: 200, connectTimeout: 1000, maxRetriesPerRequest: 0` of `ioredis`,
 * and `disableOfflineQueue: true, commandOptions: { timeout: 200 }, socket: { connectTimeout: 1000 }` of `redis`,
 * whose timeout ends once a command is sent: race it against a timer.
 */
export interface LimitRedis {
  /** `EVAL`; the user must also be allowed `TIME`. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  get(key: string): Promise<string | null>
  /** Sets the key unless it exists. */
  setIfAbsent(key: string, value: string, ttlSeconds: number): Promise<unknown>
}

/**
 * `takeFromWindow` of `limit-store.ts`, in one step and by the one clock that all processes share. KEYS: the key, and
 * perhaps one to count along; ARGV: quota, window in ms, and how many to take at most. A key ends with what it counts.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local quota, window, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used, oldest = 0, now
local function remembered(key)
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
local parts = remembered(KEYS[1])
if KEYS[2] then remembered(KEYS[2]) end
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

/** The key of the day is read anew so often, so that processes agree again after Redis lost it. */
const DAILY_KEY_MS = 60_000

/** Counts for all processes together. @param prefix of every key, such as `auth:`; the app's Redis user may touch nothing else */
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
    knownKey: (day) => dailyKeys.get(day),
    async take(key, policy, before) {
      const { allowed, remaining, resetSeconds } = await takeSome(key, policy, 1, before)
      return { allowed, remaining, resetSeconds }
    },
    async dailyKey(day) {
      const known = dailyKeys.get(day)
      if (known) return known
      const name = `${prefix}limit-key:${day}`
      await redis.setIfAbsent(name, randomBytes(32).toString('base64url'), RULES.limitKeyMs / 1000)
      const text = await redis.get(name)
      if (text === null) throw new Error('the store lost the key of the day')
      const key = Buffer.from(text, 'base64url')
      dailyKeys.set(day, key)
      return key
    },
  }
}

const NAMES = new Map<string, string>()

/**
 * Runs a script of Redis by its SHA-1, and sends its text only to a server that does not know it yet: a name is shorter to
 * write and to read than a script.
 *
 * @param byName `EVALSHA`
 * @param inFull `EVAL`
 */
export async function runScript<T>(
  script: string,
  byName: (name: string) => Promise<T>,
  inFull: () => Promise<T>,
): Promise<T> {
  const name = NAMES.get(script) ?? createHash('sha1').update(script).digest('hex')
  NAMES.set(script, name)
  try {
    return await byName(name)
  } catch (error) {
    // Nothing was run.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return inFull()
    throw error
  }
}
