import { describe, expect, test } from 'vitest'
import { createLog } from '../observability/log.ts'
import { createMemoryLimitStore, type LimitPolicy, type LimitStore } from './limit-store.ts'
import { createLimiter } from './limiter.ts'

const policy: LimitPolicy = { name: 'reads', quota: 4, windowSeconds: 60 }
const closed: LimitPolicy = { name: 'mail', quota: 4, windowSeconds: 60, closed: true }
const BROKEN = new Error('the store is unavailable')

/** A limiter with a clock and a store that can fail, and everything that it logged and decided. */
function start(options: { factor?: number } = {}) {
  const clock = { at: Date.UTC(2026, 0, 1, 12) }
  const now = () => new Date(clock.at)
  const memory = createMemoryLimitStore(now)
  const state = { broken: false, calls: 0, keys: [] as string[] }
  const respond = <T>(reply: Promise<T>) => {
    state.calls += 1
    return state.broken ? Promise.reject(BROKEN) : reply
  }
  const store: LimitStore = {
    take(key, ...rest) {
      state.keys.push(key)
      return respond(memory.take(key, ...rest))
    },
    dailyKey: (day) => respond(memory.dailyKey(day)),
  }
  const logged: string[] = []
  const decisions: string[] = []
  const limiter = createLimiter({
    store,
    factor: options.factor ?? 1,
    now,
    log: createLog({ service: 'test', write: (line) => logged.push(line) }),
    onDecision: (name, decision) => decisions.push(`${name} ${decision}`),
  })
  return { limiter, clock, state, logged, decisions }
}

const countAllowed = async (count: number, take: (index: number) => Promise<{ allowed: boolean }>) => {
  let allowed = 0
  for (let index = 0; index < count; index += 1) if ((await take(index)).allowed) allowed += 1
  return allowed
}

test.for([
  { factor: 1, quota: 4 },
  { factor: 100, quota: 400 },
  { factor: 0.5, quota: 2 },
  { factor: 0.6, quota: 2 },
  { factor: 0.001, quota: 1 },
])('multiplies a quota of 4 by $factor to get $quota', async ({ factor, quota }) => {
  const { limiter } = start({ factor })
  expect(await limiter.take(policy, 's')).toMatchObject({ policy: { quota }, remaining: quota - 1 })
})

describe('takeForAddress', () => {
  test('gives each IPv4 address the quota', async () => {
    const { limiter } = start()
    expect(await countAllowed(10, () => limiter.takeForAddress(policy, '192.0.2.1'))).toBe(4)
    expect((await limiter.takeForAddress(policy, '192.0.2.2')).allowed).toBe(true)
  })

  test('gives all IPv6 addresses of a /64 one quota', async () => {
    const { limiter } = start()
    const take = (index: number) => limiter.takeForAddress(policy, `2001:db8::${index.toString(16)}`)
    expect(await countAllowed(1_000, take)).toBe(4)
  })

  test('gives all IPv6 networks of a /48 four times the quota', async () => {
    const { limiter } = start()
    const take = (index: number) => limiter.takeForAddress(policy, `2001:db8:0:${index.toString(16)}::1`)
    expect(await countAllowed(1_000, take)).toBe(16)
  })

  test('does not count a refused request against neighbouring networks', async () => {
    const { limiter } = start()
    await countAllowed(1_000, () => limiter.takeForAddress(policy, '2001:db8:0:1::1'))
    expect(await countAllowed(10, () => limiter.takeForAddress(policy, '2001:db8:0:2::1'))).toBe(4)
  })

  test('returns the state with the fewest requests left', async () => {
    const { limiter } = start()
    expect(await limiter.takeForAddress(policy, '2001:db8:0:1::1')).toMatchObject({
      policy: { quota: 4 },
      remaining: 3,
    })
    for (const network of [2, 3, 4]) {
      await countAllowed(4, () => limiter.takeForAddress(policy, `2001:db8:0:${network}::1`))
    }
    const state = await limiter.takeForAddress(policy, '2001:db8:0:1::1')
    expect(state).toMatchObject({ remaining: 2, allowed: true })
    await limiter.takeForAddress(policy, '2001:db8:0:5::1')
    await limiter.takeForAddress(policy, '2001:db8:0:6::1')
    expect(await limiter.takeForAddress(policy, '2001:db8:0:7::1')).toMatchObject({
      policy: { quota: 16 },
      allowed: false,
    })
  })
})

describe('a limiter counts subjects', () => {
  test('apart for each policy, even if name and subject read the same when joined', async () => {
    const { limiter, state } = start()
    await limiter.take({ ...policy, name: 'a' }, 'b c')
    await limiter.take({ ...policy, name: 'a b' }, 'c')
    await limiter.take({ ...policy, name: 'a' }, 'b')
    await limiter.take({ ...policy, name: 'b' }, 'b')
    expect(new Set(state.keys).size).toBe(4)
  })

  test('under a hash that changes with the day', async () => {
    const { limiter, state, clock } = start()
    await limiter.take(policy, 'ana@example.org')
    await limiter.take(policy, 'ana@example.org')
    clock.at += 24 * 3600 * 1000
    await limiter.take(policy, 'ana@example.org')
    const [first, second, third] = state.keys
    expect(first).toMatch(/^[A-Za-z0-9_-]{22}$/)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test('across midnight, when the hash changes', async () => {
    const { limiter, state, clock } = start()
    clock.at = Date.UTC(2026, 0, 1, 23, 59, 30)
    expect(await countAllowed(3, () => limiter.take(policy, 's'))).toBe(3)
    clock.at += 40_000
    expect(await countAllowed(5, () => limiter.take(policy, 's'))).toBe(1)
    expect(new Set(state.keys).size).toBe(2)
    clock.at += 55_000
    expect(await countAllowed(5, () => limiter.take(policy, 's'))).toBe(3)
  })

  test('across midnight in a window of a whole day', async () => {
    const { limiter, clock } = start()
    const daily = { ...policy, windowSeconds: 24 * 3600 }
    clock.at = Date.UTC(2026, 0, 1, 23)
    expect(await countAllowed(3, () => limiter.take(daily, 's'))).toBe(3)
    clock.at += 2 * 3_600_000
    expect(await countAllowed(5, () => limiter.take(daily, 's'))).toBe(1)
    clock.at += 22 * 3_600_000
    expect(await countAllowed(5, () => limiter.take(daily, 's'))).toBe(3)
  })

  test('under a hash that differs between stores', async () => {
    const [one, other] = [start(), start()]
    await one.limiter.take(policy, 's')
    await other.limiter.take(policy, 's')
    expect(one.state.keys).not.toEqual(other.state.keys)
  })
})

describe('while the store fails', () => {
  test('counts general policies in this process, against the same quota', async () => {
    const { limiter, state } = start()
    state.broken = true
    expect(await countAllowed(10, () => limiter.take(policy, 's'))).toBe(4)
  })

  test('refuses closed policies as unavailable, and tries the store each time', async () => {
    const { limiter, state } = start()
    state.broken = true
    for (const calls of [1, 2, 3]) {
      await expect(limiter.take(closed, 's')).rejects.toMatchObject({ code: 'unavailable', cause: BROKEN })
      expect(state.calls).toBe(calls)
    }
    state.broken = false
    expect((await limiter.take(closed, 's')).allowed).toBe(true)
    expect(state.calls).toBeGreaterThan(3)
  })

  test('calls the store at most once a second', async () => {
    const { limiter, state, clock } = start()
    state.broken = true
    for (const subject of ['a', 'b', 'c']) await limiter.take(policy, subject)
    expect(state.calls).toBe(1)
    clock.at += 1_000
    await limiter.take(policy, 'd')
    expect(state.calls).toBe(2)
  })

  test('returns to the counts of the store after a second', async () => {
    const { limiter, state, clock } = start()
    await countAllowed(3, () => limiter.take(policy, 's'))
    state.broken = true
    expect((await limiter.take(policy, 's')).remaining).toBe(3)
    state.broken = false
    clock.at += 1_000
    expect((await limiter.take(policy, 's')).remaining).toBe(0)
  })

  test('logs the failure once in ten seconds, and counts it in metrics each time', async () => {
    const { limiter, state, clock, logged, decisions } = start()
    state.broken = true
    for (const seconds of [0, 2, 4, 6, 8, 9]) {
      clock.at = Date.UTC(2026, 0, 1, 12, 0, seconds)
      await limiter.take({ ...policy, quota: 5 }, 's')
    }
    expect(logged).toHaveLength(1)
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({ level: 'warn', error: { message: BROKEN.message } })
    expect(decisions.filter((decision) => decision === 'reads uncounted')).toHaveLength(6)
    expect(decisions.filter((decision) => decision === 'reads refused')).toHaveLength(1)
    clock.at = Date.UTC(2026, 0, 1, 12, 0, 11)
    await limiter.take(policy, 's')
    expect(logged).toHaveLength(2)
  })
})
