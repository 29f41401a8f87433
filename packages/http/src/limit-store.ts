import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Part, takeFromWindow } from './sliding-window.ts'

/** At most `quota` in any `windowSeconds`, wherever they begin. */
export interface LimitPolicy {
  /** Shown in RateLimit headers and in 429 answers. */
  readonly name: string
  readonly quota: number
  readonly windowSeconds: number
  /** True where not counting would harm somebody: the request is refused (503) when the store does not answer. */
  readonly closed?: boolean
}

export interface LimitCount {
  readonly allowed: boolean
  readonly remaining: number
  /** Until one more is allowed than now, if nothing is taken meanwhile; at most the window. */
  readonly resetSeconds: number
}

/**
 * Counts what was taken under a key. Keys are keyed hashes: no address, name or id reaches a store. What was refused is
 * not counted. What was taken is forgotten one window later, or up to a tenth of a window after that.
 */
export interface LimitStore {
  /** @param before another key under which the same was counted until now */
  take(key: string, policy: LimitPolicy, before?: string): Promise<LimitCount>
  /** 32 random bytes that all users of the store share for `day`; never written to a disk. */
  dailyKey(day: string): Promise<Buffer>
}

const MAX_KEYS = 100_000

/** Counts in this process only. Past 100 000 keys the ones used longest ago are forgotten. */
export function memoryLimitStore(now: () => Date): LimitStore {
  const windows = new LRUCache<string, readonly Part[]>({ max: MAX_KEYS })
  const keys = new LRUCache<string, Buffer>({ max: 2 })
  return {
    async take(key, { quota, windowSeconds }, before) {
      const earlier = (before !== undefined && windows.get(before)) || []
      const window = { quota, windowMs: windowSeconds * 1000, earlier }
      const { allowed, parts, used, resetMs } = takeFromWindow(
        windows.get(key) ?? [],
        now().getTime(),
        window,
      )
      windows.set(key, parts)
      return limitCount(allowed, quota - used, resetMs)
    },
    async dailyKey(day) {
      const key = keys.get(day) ?? randomBytes(32)
      keys.set(day, key)
      return key
    },
  }
}

export const limitCount = (allowed: boolean, remaining: number, resetMs: number): LimitCount => ({
  allowed,
  remaining: Math.max(0, remaining),
  resetSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
})
