import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** At most `quota` in any `windowSeconds`, wherever they begin. */
export interface LimitPolicy {
  /** Shown in RateLimit headers and in 429 responses. */
  readonly name: string
  readonly quota: number
  readonly windowSeconds: number
  /** True where an uncounted request could do harm: without the store, the request is refused (503). */
  readonly closed?: boolean
  /** A process may prefetch this many from a shared store. Set where being off by that many for each process does no harm. */
  readonly batch?: number
}

export interface LimitCount {
  readonly allowed: boolean
  readonly remaining: number
  /** Seconds until one more request is allowed, if none is counted meanwhile; at most the window. */
  readonly resetSeconds: number
}

export interface LimitState extends LimitCount {
  readonly policy: LimitPolicy
}

/**
 * Counts requests under keys. Keys are keyed hashes: no address, name or id reaches a store. Refused requests do not count.
 * A request stops counting one window later, or up to a tenth of a window after that.
 */
export interface LimitStore {
  readonly local?: LocalLimits
  /** Counts a request. @param before the key under which the same subject was counted yesterday */
  take(key: string, policy: LimitPolicy, before?: string): Promise<LimitCount>
  /** 32 random bytes that all processes of the store share for `day`; never written to disk. */
  dailyKey(day: string): Promise<Buffer>
}

/** The counts that a process can make by itself, synchronously. */
interface LocalLimits {
  /** The daily key, if it is in memory. */
  cachedDailyKey(day: string): Buffer | undefined
  /**
   * Offers to count a request. The returned function does it, and must be called in the same tick.
   *
   * @returns undefined if the request would be refused, or the shared store is needed
   */
  offer(key: string, policy: LimitPolicy): (() => LimitCount) | undefined
}

/** Given as a size: an LRU cache with a maximum number of entries would allocate all of its memory at once. */
const ROOM_FOR_KEYS = { maxSize: 50_000, sizeCalculation: () => 1 }

/**
 * Counts in this process only. Each policy holds up to 50 000 keys and then drops the least recently used, so a flood of
 * reads does not evict the counts of failed logins.
 */
export function memoryLimitStore(now: () => Date): LimitStore & { readonly local: LocalLimits } {
  const policies = new Map<string, LRUCache<string, readonly Part[]>>()
  function findWindows({ name }: LimitPolicy) {
    const windows = policies.get(name) ?? new LRUCache<string, readonly Part[]>(ROOM_FOR_KEYS)
    policies.set(name, windows)
    return windows
  }
  // Three: a window of a day reads today's key, then yesterday's. With room for two, the first request after midnight would
  // evict the key of the day that just ended, since the older one was read after it.
  const keys = new LRUCache<string, Buffer>({ max: 3 })
  const prepareTake = (key: string, policy: LimitPolicy, before?: string) => {
    const { quota, windowSeconds } = policy
    const windows = findWindows(policy)
    const earlier = before === undefined ? [] : windows.get(before)
    const window = { quota, windowMs: windowSeconds * 1000, ...(earlier && { earlier }) }
    const { allowed, parts, used, resetMs } = takeFromWindow(windows.get(key) ?? [], now().getTime(), window)
    return {
      count: limitCount(allowed, quota - used, resetMs),
      store: () => windows.set(key, parts),
    }
  }
  function dailyKey(day: string): Buffer {
    const key = keys.get(day) ?? randomBytes(32)
    keys.set(day, key)
    return key
  }
  return {
    async take(key, policy, before) {
      const { count, store } = prepareTake(key, policy, before)
      store()
      return count
    },
    dailyKey: async (day) => dailyKey(day),
    local: {
      cachedDailyKey: dailyKey,
      offer(key, policy) {
        const { count, store } = prepareTake(key, policy)
        if (!count.allowed) return undefined
        return () => {
          store()
          return count
        }
      },
    },
  }
}

export const limitCount = (allowed: boolean, remaining: number, resetMs: number): LimitCount => ({
  allowed,
  remaining: Math.max(0, remaining),
  resetSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
})

/** Requests so close together that they expire together. `from` and `last` are the times of the first and the last, in ms. */
export interface Part {
  readonly from: number
  readonly last: number
  readonly count: number
}

interface Taken {
  readonly allowed: boolean
  /** The requests that still count, oldest first; at most 12 parts. */
  readonly parts: readonly Part[]
  readonly used: number
  /** Milliseconds until the oldest part expires. */
  readonly resetMs: number
}

/** A window is stored in this many parts, so a request counts for 1 to 1.1 windows. */
export const PARTS_OF_A_WINDOW = 10

/**
 * Counts a request against a sliding window: at most `quota` in any stretch of `windowMs`. The Lua script in
 * `redis-limit-store.ts` does the same; change both.
 *
 * @param stored the parts of the window before this request
 * @param earlier parts that also count, stored under another key
 */
export function takeFromWindow(
  stored: readonly Part[],
  at: number,
  { quota, windowMs, earlier = [] }: { quota: number; windowMs: number; earlier?: readonly Part[] },
): Taken {
  const parts = unexpired(stored, at, windowMs)
  const others = unexpired(earlier, at, windowMs)
  const used = sum(parts) + sum(others)
  const allowed = used < quota
  const newest = parts.at(-1)
  if (allowed && newest && at < newest.from + windowMs / PARTS_OF_A_WINDOW)
    parts.splice(-1, 1, { from: newest.from, last: at, count: newest.count + 1 })
  else if (allowed) parts.push({ from: at, last: at, count: 1 })
  const oldest = Math.min(...[...others, ...parts].map(({ last }) => last))
  return { allowed, parts, used: used + (allowed ? 1 : 0), resetMs: oldest + windowMs - at }
}

/** Parts with a time in the future, left by a clock that was set back, count as of now. */
const unexpired = (parts: readonly Part[], at: number, windowMs: number): Part[] =>
  parts
    .map((part) => (part.last > at ? { ...part, last: at } : part))
    .filter(({ last }) => last + windowMs > at)

const sum = (parts: readonly Part[]) => parts.reduce((total, { count }) => total + count, 0)
