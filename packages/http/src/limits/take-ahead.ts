import { LRUCache } from 'lru-cache'
import { type LimitCount, type LimitPolicy, type LimitStore, limitCount } from './limit-store.ts'

/** A store that can take several at once. */
export interface SharedLimitStore extends LimitStore {
  /** @returns how many of `most` were taken; none when it refuses. `remaining` is what is left after them. */
  takeSome(
    key: string,
    policy: LimitPolicy,
    most: number,
    before?: string,
  ): Promise<LimitCount & { readonly taken: number }>
  /** The key of the day, where it was read not long ago. */
  knownKey(day: string): Buffer | undefined
}

/** What was taken from the store and is not used up yet. */
interface Ahead {
  left: number
  readonly size: number
  /** In the store, after it was taken. */
  readonly remaining: number
  readonly resetAt: number
  /** From then on the store counts it no longer, so nobody may use it. */
  readonly until: number
}

const MAX_KEYS = 100_000
/** Whoever was given so many at once comes often enough for more to be taken before they are asked for. */
const WORTH_MORE = 4

/**
 * Counts policies with a `batch` here, from what was taken ahead: one at first, then twice as many each time, up to the
 * batch. So whoever asks seldom is counted exactly, and whoever asks often asks the store seldom: more is taken while the
 * last quarter is used. Never more than the quota is taken from the store; what one process has taken ahead and does not
 * use is missing to the others until it is forgotten, and what it uses later than it took it counts as taken then: the
 * error is at most one batch a process.
 *
 * Each key asks the store once at a time, and whoever waits for a refusal is refused by it: a flood does not reach it.
 */
export function takeAhead(store: SharedLimitStore, now: () => Date): LimitStore {
  const ahead = new LRUCache<string, Ahead>({ max: MAX_KEYS })
  const underWay = new Map<string, Promise<LimitCount>>()

  function known(name: string): Ahead | undefined {
    const found = ahead.get(name)
    return found && now().getTime() < found.until ? found : undefined
  }

  function offer(key: string, policy: LimitPolicy): (() => LimitCount) | undefined {
    const name = nameOf(key, policy)
    const found = known(name)
    if (!found || found.left === 0) return undefined
    return () => {
      found.left -= 1
      const count = limitCount(true, found.remaining + found.left, found.resetAt - now().getTime())
      if (found.size >= WORTH_MORE && found.left * 4 <= found.size && !underWay.has(name)) {
        // Whoever needs it meets the failure, too.
        ask(name, () => fetchMore(name, key, policy)).catch(() => undefined)
      }
      return count
    }
  }

  /** @returns what the store counted; what was taken is held from then on */
  async function fetchMore(
    name: string,
    key: string,
    policy: LimitPolicy,
    before?: string,
  ): Promise<LimitCount> {
    const at = now().getTime()
    const most = Math.max(1, Math.min(policy.batch ?? 1, Math.floor(policy.quota / 10)))
    const size = Math.min(most, (known(name)?.size ?? 0.5) * 2)
    const { taken, ...count } = await store.takeSome(key, policy, size - (known(name)?.left ?? 0), before)
    const rest = known(name)
    const left = rest && rest.left > 0 ? rest : { left: 0, until: at + policy.windowSeconds * 1000 }
    ahead.set(name, {
      left: left.left + taken,
      size,
      remaining: count.remaining,
      resetAt: at + count.resetSeconds * 1000,
      until: left.until,
    })
    return count
  }

  function ask(name: string, fetch: () => Promise<LimitCount>): Promise<LimitCount> {
    const asking = fetch().finally(() => underWay.delete(name))
    underWay.set(name, asking)
    return asking
  }

  async function take(key: string, policy: LimitPolicy, before?: string): Promise<LimitCount> {
    if (policy.batch === undefined) return store.take(key, policy, before)
    const name = nameOf(key, policy)
    for (;;) {
      const offered = offer(key, policy)
      if (offered) return offered()
      const asked = underWay.get(name) ?? ask(name, () => fetchMore(name, key, policy, before))
      const count = await asked
      if (!count.allowed) return count
    }
  }

  return {
    take,
    dailyKey: (day) => store.dailyKey(day),
    here: { key: (day) => store.knownKey(day), offer },
  }
}

const nameOf = (key: string, policy: LimitPolicy) => `${policy.name}:${key}`
