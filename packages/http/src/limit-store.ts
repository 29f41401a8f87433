import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

/** At most `quota` in `windowSeconds`, counted from the first one. */
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
  readonly resetSeconds: number
}

/** Counts what was taken under a key. Keys are keyed hashes: no address, name or id reaches a store. */
export interface LimitStore {
  take(key: string, policy: LimitPolicy): Promise<LimitCount>
  /** 32 random bytes that all users of the store share for `day`; never written to a disk. */
  dailyKey(day: string): Promise<Buffer>
}

const MAX_KEYS = 100_000

/** Counts in this process only. Past 100 000 keys the ones used longest ago are forgotten. */
export function memoryLimitStore(now: () => Date): LimitStore {
  const windows = new LRUCache<string, { used: number; endsAt: number }>({ max: MAX_KEYS })
  const keys = new LRUCache<string, Buffer>({ max: 2 })
  return {
    async take(key, policy) {
      const at = now().getTime()
      const known = windows.get(key)
      const window =
        known && known.endsAt > at ? known : { used: 0, endsAt: at + policy.windowSeconds * 1000 }
      window.used = Math.min(window.used + 1, policy.quota + 1)
      windows.set(key, window)
      return {
        allowed: window.used <= policy.quota,
        remaining: Math.max(0, policy.quota - window.used),
        resetSeconds: Math.ceil((window.endsAt - at) / 1000),
      }
    },
    async dailyKey(day) {
      const key = keys.get(day) ?? randomBytes(32)
      keys.set(day, key)
      return key
    },
  }
}

/** What both Redis clients can do, in the words of one. */
export interface LimitRedis {
  /** The client itself: `ioredis`, or `redis` with `nodeRedis` set. */
  readonly client: unknown
  readonly nodeRedis?: boolean
  get(key: string): Promise<string | null>
  /** Sets the key unless it exists. */
  setIfAbsent(key: string, value: string, ttlSeconds: number): Promise<unknown>
}

/** @param prefix of every key, such as `auth:`; the app's Redis user may touch nothing else */
export function redisLimitStore(redis: LimitRedis, prefix: string): LimitStore {
  const limiters = new Map<string, RateLimiterRedis>()
  const limiterFor = ({ name, quota, windowSeconds }: LimitPolicy) => {
    const id = `${name} ${quota} ${windowSeconds}`
    const known = limiters.get(id)
    if (known) return known
    const made = new RateLimiterRedis({
      storeClient: redis.client,
      useRedisPackage: redis.nodeRedis ?? false,
      keyPrefix: `${prefix}limit:${name}`,
      points: quota,
      duration: windowSeconds,
    })
    limiters.set(id, made)
    return made
  }
  return {
    async take(key, policy) {
      const counted = await limiterFor(policy)
        .consume(key)
        .catch((refused: unknown) => {
          if (refused instanceof RateLimiterRes) return refused
          throw refused
        })
      return {
        allowed: counted.consumedPoints <= policy.quota,
        remaining: Math.max(0, counted.remainingPoints),
        resetSeconds: Math.max(1, Math.ceil(counted.msBeforeNext / 1000)),
      }
    },
    async dailyKey(day) {
      const name = `${prefix}limit-key:${day}`
      await redis.setIfAbsent(name, randomBytes(32).toString('base64url'), 2 * 24 * 3600)
      const key = await redis.get(name)
      if (key === null) throw new Error('the store lost the key of the day')
      return Buffer.from(key, 'base64url')
    },
  }
}
