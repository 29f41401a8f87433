import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** A limit: at most `quota` requests within any period of `windowSeconds`. */
export interface LimitPolicy {
  /** Shown in RateLimit headers and in 429 responses. */
  readonly name: string
  readonly quota: number
  readonly windowSeconds: number
  /** True where an uncounted request could do harm. While the store is unavailable, such requests are refused (503). */
  readonly failsClosed?: boolean
  /**
   * The most requests that a process prefetches from a shared store at a time. Set it only where an error of this size
   * for each process is harmless.
   */
  readonly batch?: number
}

export interface LimitCount {
  readonly allowed: boolean
  readonly remaining: number
  /** Seconds until the oldest counted requests expire, which frees some quota. At least 1, at most the window. */
  readonly resetSeconds: number
}

export interface LimitState extends LimitCount {
  readonly policy: LimitPolicy
}

/**
 * Counts requests by key. Keys are keyed hashes, so no address, e-mail address or id of a caller reaches a store. Refused requests
 * do not count. A request counts for one window, or up to a tenth longer.
 */
export interface LimitStore {
  /** Counts requests without a call to a shared store. Absent if the store needs that call for each request. */
  readonly local?: LocalLimits
  /**
   * Counts a request.
   *
   * @param key belongs to one policy: a store may find its counts by the key alone
   * @param yesterdaysKey yesterday's key for the same subject
   */
  take(key: string, policy: LimitPolicy, yesterdaysKey?: string): Promise<LimitCount>
  /** Returns 32 random bytes that all processes of the store share for `day`. They must not be written to disk. */
  getDailyKey(day: string): Promise<Buffer>
}

/** Counts requests in this process alone, synchronously. */
interface LocalLimits {
  /** Returns the daily key if it is in memory. The memory store creates a missing key. */
  getCachedDailyKey(day: string): Buffer | undefined
  /**
   * Returns a function that counts a request whose window began today. Call it in the same tick.
   *
   * @param key belongs to one policy, as for `take`
   * @returns undefined if the request would be refused, or if the shared store is needed
   */
  offer(key: string, policy: LimitPolicy): (() => LimitCount) | undefined
}

/** Bounds the number of entries by `maxSize`: with `max`, a cache reserves all its memory when it is created. */
const KEY_CACHE_OPTIONS = { maxSize: 50_000, sizeCalculation: () => 1 }

/**
 * Creates a store that counts in this process only. Each policy has its own cache of up to 50,000 keys, so a flood of
 * reads does not evict the counts of failed authentications.
 */
export function createMemoryLimitStore(now: () => Date): LimitStore & { readonly local: LocalLimits } {
  const cachesByPolicy = new Map<string, LRUCache<string, readonly Part[]>>()
  function findPartsCache({ name }: LimitPolicy) {
    const partsByKey = cachesByPolicy.get(name) ?? new LRUCache<string, readonly Part[]>(KEY_CACHE_OPTIONS)
    cachesByPolicy.set(name, partsByKey)
    return partsByKey
  }
  // A request reads today's key and then yesterday's. With room for only two, the first request after midnight would
  // evict yesterday's key, because the key of the day before was used more recently.
  const dailyKeys = new LRUCache<string, Buffer>({ max: 3 })
  const prepareTake = (key: string, policy: LimitPolicy, yesterdaysKey?: string) => {
    const { quota, windowSeconds } = policy
    const partsByKey = findPartsCache(policy)
    const earlierParts = yesterdaysKey === undefined ? [] : partsByKey.get(yesterdaysKey)
    const window = { quota, windowMs: windowSeconds * 1000, ...(earlierParts && { earlier: earlierParts }) }
    const { allowed, parts, used, resetMs } = takeFromWindow(
      partsByKey.get(key) ?? [],
      now().getTime(),
      window,
    )
    return {
      count: toLimitCount(allowed, quota - used, resetMs),
      save: () => partsByKey.set(key, parts),
    }
  }
  function getDailyKey(day: string): Buffer {
    const key = dailyKeys.get(day) ?? randomBytes(32)
    dailyKeys.set(day, key)
    return key
  }
  return {
    async take(key, policy, yesterdaysKey) {
      const { count, save } = prepareTake(key, policy, yesterdaysKey)
      save()
      return count
    },
    getDailyKey: async (day) => getDailyKey(day),
    local: {
      getCachedDailyKey: getDailyKey,
      offer(key, policy) {
        const { count, save } = prepareTake(key, policy)
        if (!count.allowed) return undefined
        return () => {
          save()
          return count
        }
      },
    },
  }
}

export const toLimitCount = (allowed: boolean, remaining: number, resetMs: number): LimitCount => ({
  allowed,
  remaining: Math.max(0, remaining),
  resetSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
})

/** Requests that expire together. `firstAt` and `lastAt` are the times of the first and the last one, in ms. */
export interface Part {
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
}

interface TakeResult {
  readonly allowed: boolean
  /** The requests that still count under today's key, oldest first, in at most 12 parts. */
  readonly parts: readonly Part[]
  /** The number of requests that count, including this one if it is allowed. */
  readonly used: number
  /** Milliseconds until the oldest part expires. */
  readonly resetMs: number
}

/** A part covers at most a window divided by this number. A request therefore counts for 1 to 1.1 windows. */
export const PARTS_PER_WINDOW = 10

/**
 * Counts a request against a sliding window: at most `quota` in any period of `windowMs`. The Lua script in
 * `redis-limit-store.ts` does the same; change both.
 *
 * @param stored the parts before this request
 * @param window.earlier further parts that count, from yesterday's key
 */
export function takeFromWindow(
  stored: readonly Part[],
  nowMs: number,
  { quota, windowMs, earlier = [] }: { quota: number; windowMs: number; earlier?: readonly Part[] },
): TakeResult {
  const parts = selectUnexpired(stored, nowMs, windowMs)
  const otherParts = selectUnexpired(earlier, nowMs, windowMs)
  const usedBefore = sumCounts(parts) + sumCounts(otherParts)
  const isAllowed = usedBefore < quota
  const newestPart = parts.at(-1)
  if (isAllowed && newestPart && nowMs < newestPart.firstAt + windowMs / PARTS_PER_WINDOW)
    parts.splice(-1, 1, { firstAt: newestPart.firstAt, lastAt: nowMs, count: newestPart.count + 1 })
  else if (isAllowed) parts.push({ firstAt: nowMs, lastAt: nowMs, count: 1 })
  const oldestMs = Math.min(...[...otherParts, ...parts].map(({ lastAt }) => lastAt))
  return {
    allowed: isAllowed,
    parts,
    used: usedBefore + (isAllowed ? 1 : 0),
    resetMs: oldestMs + windowMs - nowMs,
  }
}

/** Removes expired parts. Moves a `lastAt` in the future to now, because the clock may have been set back. */
const selectUnexpired = (parts: readonly Part[], nowMs: number, windowMs: number): Part[] =>
  parts
    .map((part) => (part.lastAt > nowMs ? { ...part, lastAt: nowMs } : part))
    .filter(({ lastAt }) => lastAt + windowMs > nowMs)

const sumCounts = (parts: readonly Part[]) => parts.reduce((total, { count }) => total + count, 0)
