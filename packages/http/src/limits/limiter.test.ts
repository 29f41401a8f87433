import { describe, expect, test } from 'vitest'
import { createLog } from '../observability/log.ts'
import { createMemoryLimitStore, type LimitPolicy, type LimitStore } from './limit-store.ts'
import { createLimiter } from './limiter.ts'

const policy: LimitPolicy = { name: 'reads', quota: 4, windowSeconds: 60 }
const closedPolicy: LimitPolicy = { name: 'mail', quota: 4, windowSeconds: 60, failsClosed: true }
const STORE_ERROR = new Error('the store is unavailable')

/**
 * Creates a limiter with a clock that the test sets and a store that can fail. Records the keys and the number of calls that the
 * store receives, the log lines, and each decision as `<policy> <decision>`.
 */
function setUp(options: { factor?: number } = {}) {
  const clock = { at: Date.UTC(2026, 0, 1, 12) }
  const now = () => new Date(clock.at)
  const memory = createMemoryLimitStore(now)
  const storeState = { isBroken: false, callCount: 0, keys: [] as string[] }
  const replyOrFail = <T>(reply: Promise<T>) => {
    storeState.callCount += 1
    return storeState.isBroken ? Promise.reject(STORE_ERROR) : reply
  }
  const store: LimitStore = {
    take(key, ...rest) {
      storeState.keys.push(key)
      return replyOrFail(memory.take(key, ...rest))
    },
    getDailyKey: (day) => replyOrFail(memory.getDailyKey(day)),
  }
  const logLines: string[] = []
  const decisions: string[] = []
  const limiter = createLimiter({
    store,
    factor: options.factor ?? 1,
    now,
    log: createLog({ service: 'test', write: (line) => logLines.push(line) }),
    onDecision: (name, decision) => decisions.push(`${name} ${decision}`),
  })
  return { limiter, clock, storeState, logLines, decisions }
}

/** Calls `take` this many times, one after the other, and counts how many requests were allowed. */
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
])('multiplies a quota of 4 by $factor, which results in $quota', async ({ factor, quota }) => {
  const { limiter } = setUp({ factor })
  expect(await limiter.take(policy, 's')).toMatchObject({ policy: { quota }, remaining: quota - 1 })
})

describe('takeForAddress', () => {
  test('gives each IPv4 address its own quota', async () => {
    const { limiter } = setUp()
    expect(await countAllowed(10, () => limiter.takeForAddress(policy, '192.0.2.1'))).toBe(4)
    expect((await limiter.takeForAddress(policy, '192.0.2.2')).allowed).toBe(true)
  })

  test('gives the IPv6 addresses of a /64 one quota together', async () => {
    const { limiter } = setUp()
    const take = (index: number) => limiter.takeForAddress(policy, `2001:db8::${index.toString(16)}`)
    expect(await countAllowed(1_000, take)).toBe(4)
  })

  test('gives the IPv6 networks of a /48 four times the quota together', async () => {
    const { limiter } = setUp()
    const take = (index: number) => limiter.takeForAddress(policy, `2001:db8:0:${index.toString(16)}::1`)
    expect(await countAllowed(1_000, take)).toBe(16)
  })

  test('does not count a refused request against neighbouring networks', async () => {
    const { limiter } = setUp()
    await countAllowed(1_000, () => limiter.takeForAddress(policy, '2001:db8:0:1::1'))
    expect(await countAllowed(10, () => limiter.takeForAddress(policy, '2001:db8:0:2::1'))).toBe(4)
  })

  test('returns the state with the fewest requests left, or the state that refuses', async () => {
    const { limiter } = setUp()
    expect(await limiter.takeForAddress(policy, '2001:db8:0:1::1')).toMatchObject({
      policy: { quota: 4 },
      remaining: 3,
    })
    for (const network of [2, 3, 4]) {
      await countAllowed(4, () => limiter.takeForAddress(policy, `2001:db8:0:${network}::1`))
    }
    // The /48 has counted 13 of 16 requests, and the /64 of the next address none of four.
    expect(await limiter.takeForAddress(policy, '2001:db8:0:5::1')).toMatchObject({
      policy: { quota: 16 },
      remaining: 2,
      allowed: true,
    })
    await limiter.takeForAddress(policy, '2001:db8:0:6::1')
    await limiter.takeForAddress(policy, '2001:db8:0:7::1')
    expect(await limiter.takeForAddress(policy, '2001:db8:0:8::1')).toMatchObject({
      policy: { quota: 16 },
      allowed: false,
    })
  })
})

describe('a limiter', () => {
  test('counts each pair of policy and subject under its own hash, even if the joined texts are equal', async () => {
    const { limiter, storeState } = setUp()
    // Joined with a space, the first two pairs are both `a b c`.
    await limiter.take({ ...policy, name: 'a' }, 'b c')
    await limiter.take({ ...policy, name: 'a b' }, 'c')
    await limiter.take({ ...policy, name: 'a' }, 'b')
    await limiter.take({ ...policy, name: 'b' }, 'b')
    expect(new Set(storeState.keys).size).toBe(4)
  })

  test('counts a subject under a hash that changes with the day', async () => {
    const { limiter, storeState, clock } = setUp()
    await limiter.take(policy, 'ana@example.org')
    await limiter.take(policy, 'ana@example.org')
    clock.at += 24 * 3600 * 1000
    await limiter.take(policy, 'ana@example.org')
    const [firstKey, secondKey, nextDayKey] = storeState.keys
    expect(firstKey).toMatch(/^[A-Za-z0-9_-]{22}$/)
    expect(secondKey).toBe(firstKey)
    expect(nextDayKey).not.toBe(firstKey)
  })

  test('counts across midnight, when the hash changes', async () => {
    const { limiter, storeState, clock } = setUp()
    clock.at = Date.UTC(2026, 0, 1, 23, 59, 30)
    expect(await countAllowed(3, () => limiter.take(policy, 's'))).toBe(3)
    // Ten seconds after midnight, the three requests still count.
    clock.at += 40_000
    expect(await countAllowed(5, () => limiter.take(policy, 's'))).toBe(1)
    expect(new Set(storeState.keys).size).toBe(2)
    // They have left the window, but the request after midnight has not.
    clock.at += 55_000
    expect(await countAllowed(5, () => limiter.take(policy, 's'))).toBe(3)
  })

  test('counts across midnight in a window of a whole day', async () => {
    const { limiter, clock } = setUp()
    const daily = { ...policy, windowSeconds: 24 * 3600 }
    clock.at = Date.UTC(2026, 0, 1, 23)
    expect(await countAllowed(3, () => limiter.take(daily, 's'))).toBe(3)
    clock.at += 2 * 3_600_000
    expect(await countAllowed(5, () => limiter.take(daily, 's'))).toBe(1)
    clock.at += 22 * 3_600_000
    expect(await countAllowed(5, () => limiter.take(daily, 's'))).toBe(3)
  })

  test('counts a subject under a hash that differs between stores', async () => {
    const [oneSetUp, otherSetUp] = [setUp(), setUp()]
    await oneSetUp.limiter.take(policy, 's')
    await otherSetUp.limiter.take(policy, 's')
    expect(oneSetUp.storeState.keys).not.toEqual(otherSetUp.storeState.keys)
  })
})

describe('while the store fails', () => {
  test('counts policies that do not fail closed in this process, against the same quota', async () => {
    const { limiter, storeState } = setUp()
    storeState.isBroken = true
    expect(await countAllowed(10, () => limiter.take(policy, 's'))).toBe(4)
  })

  test('throws unavailable for policies that fail closed, and tries the store each time', async () => {
    const { limiter, storeState } = setUp()
    storeState.isBroken = true
    for (const callCount of [1, 2, 3]) {
      await expect(limiter.take(closedPolicy, 's')).rejects.toMatchObject({
        code: 'unavailable',
        cause: STORE_ERROR,
      })
      expect(storeState.callCount).toBe(callCount)
    }
    storeState.isBroken = false
    expect((await limiter.take(closedPolicy, 's')).allowed).toBe(true)
    expect(storeState.callCount).toBeGreaterThan(3)
  })

  test('calls the store at most once a second for policies that do not fail closed', async () => {
    const { limiter, storeState, clock } = setUp()
    storeState.isBroken = true
    for (const subject of ['a', 'b', 'c']) await limiter.take(policy, subject)
    expect(storeState.callCount).toBe(1)
    clock.at += 1_000
    await limiter.take(policy, 'd')
    expect(storeState.callCount).toBe(2)
  })

  test('returns to the counts of the store a second after a failure', async () => {
    const { limiter, storeState, clock } = setUp()
    await countAllowed(3, () => limiter.take(policy, 's'))
    storeState.isBroken = true
    // Without the store, this process has counted only this request.
    expect((await limiter.take(policy, 's')).remaining).toBe(3)
    storeState.isBroken = false
    clock.at += 1_000
    expect((await limiter.take(policy, 's')).remaining).toBe(0)
  })

  test('returns to the counts of the store, and logs the next failure, if the clock is set back after a failure', async () => {
    const { limiter, storeState, clock, logLines } = setUp()
    storeState.isBroken = true
    await limiter.take(policy, 's')
    clock.at -= 3_600_000
    await limiter.take(policy, 's')
    expect(storeState.callCount).toBe(2)
    expect(logLines).toHaveLength(2)
    storeState.isBroken = false
    clock.at -= 3_600_000
    expect((await limiter.take(policy, 's')).remaining).toBe(3)
  })

  test('logs a failure at most once in ten seconds, and reports each uncounted request', async () => {
    const { limiter, storeState, clock, logLines, decisions } = setUp()
    storeState.isBroken = true
    // Each request comes at least a second after the last failure, so the limiter tries the store again. The sixth request
    // exceeds the quota.
    for (const seconds of [0, 2, 4, 6, 8, 9]) {
      clock.at = Date.UTC(2026, 0, 1, 12, 0, seconds)
      await limiter.take({ ...policy, quota: 5 }, 's')
    }
    expect(logLines).toHaveLength(1)
    expect(JSON.parse(logLines[0] ?? '')).toMatchObject({
      level: 'warn',
      error: { message: STORE_ERROR.message },
    })
    expect(decisions.filter((decision) => decision === 'reads uncounted')).toHaveLength(6)
    expect(decisions.filter((decision) => decision === 'reads refused')).toHaveLength(1)
    clock.at = Date.UTC(2026, 0, 1, 12, 0, 11)
    await limiter.take(policy, 's')
    expect(logLines).toHaveLength(2)
  })
})
