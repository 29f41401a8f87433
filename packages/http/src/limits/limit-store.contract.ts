import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitPolicy, LimitStore } from './limit-store.ts'
import type { SharedLimitStore } from './prefetching-limit-store.ts'

/*
 * The tests of limit stores. `limit-store.test.ts`, `prefetching-limit-store.test.ts` and `redis-limit-store.redis.test.ts` run
 * them. Times have tolerances of a few seconds, because the clock of Redis runs on during a test.
 */

export interface LimitStoreUnderTest extends AsyncDisposable {
  readonly store: LimitStore
  /** Another process's store with the same counts; undefined if the store is not shared. */
  readonly sameStore?: LimitStore
  /** Lets time pass for the stored counts. */
  advance(seconds: number): Promise<void>
}

const policy: LimitPolicy = { name: 'writes', quota: 3, windowSeconds: 60 }
const times = (count: number) => Array.from({ length: count })

/** Defines the tests that every limit store must pass. */
export function describeLimitStore(name: string, setUp: () => Promise<LimitStoreUnderTest>): void {
  describe(`${name} as a limit store`, () => {
    test('allows the quota and refuses further requests', async () => {
      await using limits = await setUp()
      const counts = []
      for (const _ of times(5)) counts.push(await limits.store.take('key', policy))
      expect(counts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ])
      for (const { resetSeconds } of counts) {
        expect(Number.isInteger(resetSeconds)).toBe(true)
        expect(resetSeconds).toBeGreaterThan(55)
        expect(resetSeconds).toBeLessThanOrEqual(60)
      }
    })

    test('allows exactly the quota among concurrent requests', async () => {
      await using limits = await setUp()
      const stores = [limits.store, limits.sameStore ?? limits.store]
      const counts = await Promise.all(
        times(40).map((_, index) =>
          (stores[index % 2] ?? limits.store).take('key', { ...policy, quota: 10 }),
        ),
      )
      expect(counts.filter((count) => count.allowed)).toHaveLength(10)
    })

    test('counts each key separately', async () => {
      await using limits = await setUp()
      for (const _ of times(3)) await limits.store.take('key', policy)
      expect((await limits.store.take('key', policy)).allowed).toBe(false)
      expect((await limits.store.take('other', policy)).remaining).toBe(2)
    })

    test('allows only the quota in bursts around the end of a window, also if two processes share the store', async () => {
      await using limits = await setUp()
      const stores = [limits.store, limits.sameStore ?? limits.store]
      const sendBurst = async () => {
        const counts = await Promise.all(
          times(20).map((_, index) => (stores[index % 2] ?? limits.store).take('key', policy)),
        )
        return counts.filter((count) => count.allowed).length
      }
      await limits.store.take('key', policy)
      // Just before the first request expires at 60 s, and just after.
      await limits.advance(59)
      expect(await sendBurst()).toBe(2)
      await limits.advance(2)
      expect(await sendBurst()).toBe(1)
      // The requests at 59 s and 61 s share a part, so they count until 121 s. The last two bursts are at 111 s and 128 s.
      await limits.advance(50)
      expect(await sendBurst()).toBe(0)
      await limits.advance(17)
      expect(await sendBurst()).toBe(3)
    })

    test('allows at most the quota in any window, and refuses only if the last 1.1 windows used it up', {
      timeout: 60_000,
    }, async () => {
      await using limits = await setUp()
      const step = fc.record({
        waitSeconds: fc.integer({ min: 0, max: 40 }),
        takes: fc.integer({ min: 1, max: 3 }),
      })
      let run = 0
      const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 15 }), async (steps) => {
        run += 1
        const earlierTakes: { at: number; allowed: boolean }[] = []
        let nowSeconds = 0
        for (const { waitSeconds, takes } of steps) {
          await limits.advance(waitSeconds)
          nowSeconds += waitSeconds
          for (const _ of times(takes)) {
            const countAllowedWithin = (seconds: number) =>
              earlierTakes.filter((take) => take.allowed && take.at > nowSeconds - seconds).length
            const { allowed } = await limits.store.take(`run ${run}`, policy)
            // The second that is subtracted or added allows for the running time of the test.
            if (allowed) expect(countAllowedWithin(policy.windowSeconds - 1)).toBeLessThan(policy.quota)
            else
              expect(countAllowedWithin(policy.windowSeconds * 1.1 + 1)).toBeGreaterThanOrEqual(policy.quota)
            earlierTakes.push({ at: nowSeconds, allowed })
          }
        }
      })
      await fc.assert(property, { numRuns: 25, seed: 148 })
    })

    test('includes earlier requests under yesterday’s key, but adds no request to that key', async () => {
      await using limits = await setUp()
      for (const _ of times(2)) await limits.store.take('yesterday', policy)
      await limits.advance(30)
      const counts = []
      for (const _ of times(3)) counts.push(await limits.store.take('today', policy, 'yesterday'))
      expect(counts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 0],
        [false, 0],
        [false, 0],
      ])
      expect(counts[1]?.resetSeconds).toBeLessThanOrEqual(30)
      expect((await limits.store.take('yesterday', policy)).remaining).toBe(0)
      await limits.advance(31)
      expect((await limits.store.take('today', policy, 'yesterday')).allowed).toBe(true)
    })

    test('allows the quota again when the window is over, and not earlier', async () => {
      await using limits = await setUp()
      for (const _ of times(4)) await limits.store.take('key', policy)
      await limits.advance(50)
      const lateCount = await limits.store.take('key', policy)
      expect(lateCount.allowed).toBe(false)
      expect(lateCount.resetSeconds).toBeGreaterThan(0)
      expect(lateCount.resetSeconds).toBeLessThanOrEqual(10)
      await limits.advance(15)
      expect(await limits.store.take('key', policy)).toMatchObject({ allowed: true, remaining: 2 })
    })

    test('does not count refused requests', async () => {
      await using limits = await setUp()
      for (const _ of times(30)) await limits.store.take('key', policy)
      await limits.advance(61)
      expect((await limits.store.take('key', policy)).allowed).toBe(true)
    })

    test('returns the same daily key to all processes, and another key for the next day', async () => {
      await using limits = await setUp()
      const key = await limits.store.getDailyKey('2026-01-01')
      expect(key).toHaveLength(32)
      expect(await limits.store.getDailyKey('2026-01-01')).toEqual(key)
      expect(await (limits.sameStore ?? limits.store).getDailyKey('2026-01-01')).toEqual(key)
      expect(await limits.store.getDailyKey('2026-01-02')).not.toEqual(key)
    })
  })
}

/** Defines the tests that every shared limit store must pass in addition. */
export function describeSharedLimitStore(
  name: string,
  setUp: () => Promise<{ readonly store: SharedLimitStore } & AsyncDisposable>,
): void {
  describe(`${name} as a shared limit store`, () => {
    const reads: LimitPolicy = { name: 'reads', quota: 100, windowSeconds: 60 }

    test('counts at most an eighth of the remaining quota at once, or one request', async () => {
      await using limits = await setUp()
      const takenCounts = []
      for (const _ of times(8)) takenCounts.push((await limits.store.takeUpTo('key', reads, 50)).taken)
      // An eighth of 100, 88, 77, 68 and so on, rounded down.
      expect(takenCounts).toEqual([12, 11, 9, 8, 7, 6, 5, 5])
      for (const _ of times(100)) takenCounts.push((await limits.store.takeUpTo('key', reads, 50)).taken)
      expect(takenCounts.at(-1)).toBe(0)
      expect(takenCounts.reduce((sum, taken) => sum + taken, 0)).toBe(100)
    })

    test('counts no more than the requested number, and returns the remaining quota', async () => {
      await using limits = await setUp()
      expect(await limits.store.takeUpTo('key', reads, 4)).toMatchObject({
        allowed: true,
        taken: 4,
        remaining: 96,
      })
      expect(await limits.store.take('key', reads)).toMatchObject({ allowed: true, remaining: 95 })
    })
  })
}
