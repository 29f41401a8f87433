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
  /** Where an error of so many for each process does no harm: they may be taken from a shared store ahead. */
  readonly batch?: number
}

export interface LimitCount {
  readonly allowed: boolean
  readonly remaining: number
  /** Until one more is allowed than now, if nothing is taken meanwhile; at most the window. */
  readonly resetSeconds: number
}

export interface LimitState extends LimitCount {
  readonly policy: LimitPolicy
}

/**
 * Counts what was taken under a key. Keys are keyed hashes: no address, name or id reaches a store. What was refused is
 * not counted. What was taken is forgotten one window later, or up to a tenth of a window after that.
 */
export interface LimitStore {
  readonly here?: LimitsHere
  /** @param before another key under which the same was counted until now */
  take(key: string, policy: LimitPolicy, before?: string): Promise<LimitCount>
  /** 32 random bytes that all users of the store share for `day`; never written to a disk. */
  dailyKey(day: string): Promise<Buffer>
}

/** What a process can count without asking anybody, and so at once. */
interface LimitsHere {
  /** The key of the day, where it is known. */
  key(day: string): Buffer | undefined
  /** Takes one when called, before anything else is done; undefined where somebody must be asked, or would refuse. */
  offer(key: string, policy: LimitPolicy): (() => LimitCount) | undefined
}

const MAX_KEYS = 100_000

/** Counts in this process only. Past 100 000 keys the ones used longest ago are forgotten. */
export function memoryLimitStore(now: () => Date): LimitStore {
  const windows = new LRUCache<string, readonly Part[]>({ max: MAX_KEYS })
  // A window of a whole day asks for the day before last: with room for two, midnight would forget yesterday.
  const keys = new LRUCache<string, Buffer>({ max: 3 })
  const taken = (key: string, { quota, windowSeconds }: LimitPolicy, earlier: readonly Part[] = []) => {
    const window = { quota, windowMs: windowSeconds * 1000, earlier }
    const { allowed, parts, used, resetMs } = takeFromWindow(windows.get(key) ?? [], now().getTime(), window)
    return { parts, count: limitCount(allowed, quota - used, resetMs) }
  }
  function keyOf(day: string): Buffer {
    const key = keys.get(day) ?? randomBytes(32)
    keys.set(day, key)
    return key
  }
  return {
    async take(key, policy, before) {
      const { parts, count } = taken(key, policy, before === undefined ? [] : windows.get(before))
      windows.set(key, parts)
      return count
    },
    dailyKey: async (day) => keyOf(day),
    here: {
      key: keyOf,
      offer(key, policy) {
        const { parts, count } = taken(key, policy)
        if (!count.allowed) return undefined
        return () => {
          windows.set(key, parts)
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
