import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

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

/** As a size, since a maximum number of entries would take its memory at once, for each policy. */
const ROOM_FOR_KEYS = { maxSize: 50_000, sizeCalculation: () => 1 }

/**
 * Counts in this process only. Past 50 000 keys of a policy, the ones used longest ago are forgotten; no policy takes
 * the room of another, so a flood of reads makes nobody forget refused credentials.
 */
export function memoryLimitStore(now: () => Date): LimitStore & { readonly here: LimitsHere } {
  const policies = new Map<string, LRUCache<string, readonly Part[]>>()
  function windowsOf({ name }: LimitPolicy) {
    const windows = policies.get(name) ?? new LRUCache<string, readonly Part[]>(ROOM_FOR_KEYS)
    policies.set(name, windows)
    return windows
  }
  // A window of a whole day asks for the day before last: with room for two, midnight would forget yesterday.
  const keys = new LRUCache<string, Buffer>({ max: 3 })
  const taken = (key: string, policy: LimitPolicy, before?: string) => {
    const { quota, windowSeconds } = policy
    const windows = windowsOf(policy)
    const earlier = before === undefined ? [] : windows.get(before)
    const window = { quota, windowMs: windowSeconds * 1000, ...(earlier && { earlier }) }
    const { allowed, parts, used, resetMs } = takeFromWindow(windows.get(key) ?? [], now().getTime(), window)
    return {
      count: limitCount(allowed, quota - used, resetMs),
      remember: () => windows.set(key, parts),
    }
  }
  function keyOf(day: string): Buffer {
    const key = keys.get(day) ?? randomBytes(32)
    keys.set(day, key)
    return key
  }
  return {
    async take(key, policy, before) {
      const { count, remember } = taken(key, policy, before)
      remember()
      return count
    },
    dailyKey: async (day) => keyOf(day),
    here: {
      key: keyOf,
      offer(key, policy) {
        const { count, remember } = taken(key, policy)
        if (!count.allowed) return undefined
        return () => {
          remember()
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

/** Takes that lie so close together that they are forgotten together: when the first and the last was, in ms. */
export interface Part {
  readonly from: number
  readonly last: number
  readonly count: number
}

interface Taken {
  readonly allowed: boolean
  /** What still counts, oldest first; at most 12 parts. */
  readonly parts: readonly Part[]
  readonly used: number
  /** Until the oldest part is forgotten. */
  readonly resetMs: number
}

/** A window is remembered in so many parts, so a take counts for one window to one and a tenth. */
export const PARTS_OF_A_WINDOW = 10

/**
 * Takes one where at most `quota` are allowed in any stretch of `windowMs`, wherever it begins. `redis-limit-store.ts`
 * has the same in Lua.
 *
 * @param earlier parts that count too and are kept elsewhere
 */
export function takeFromWindow(
  known: readonly Part[],
  at: number,
  { quota, windowMs, earlier = [] }: { quota: number; windowMs: number; earlier?: readonly Part[] },
): Taken {
  const parts = remembered(known, at, windowMs)
  const others = remembered(earlier, at, windowMs)
  const used = sum(parts) + sum(others)
  const allowed = used < quota
  const newest = parts.at(-1)
  if (allowed && newest && at < newest.from + windowMs / PARTS_OF_A_WINDOW)
    parts.splice(-1, 1, { from: newest.from, last: at, count: newest.count + 1 })
  else if (allowed) parts.push({ from: at, last: at, count: 1 })
  const oldest = Math.min(...[...others, ...parts].map(({ last }) => last))
  return { allowed, parts, used: used + (allowed ? 1 : 0), resetMs: oldest + windowMs - at }
}

/** A clock that was set back leaves parts of the future, which count as taken now. */
const remembered = (parts: readonly Part[], at: number, windowMs: number): Part[] =>
  parts
    .map((part) => (part.last > at ? { ...part, last: at } : part))
    .filter(({ last }) => last + windowMs > at)

const sum = (parts: readonly Part[]) => parts.reduce((total, { count }) => total + count, 0)
