import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitPolicy, LimitStore } from './limit-store.ts'

export interface LimitStoreUnderTest extends AsyncDisposable {
  readonly store: LimitStore
  /** The same counts, seen by another process; undefined when a store is never shared. */
  readonly sameStore?: LimitStore
  /** Lets time pass for the stored counts. */
  advance(seconds: number): Promise<void>
}

const policy: LimitPolicy = { name: 'writes', quota: 3, windowSeconds: 60 }
const times = (count: number) => Array.from({ length: count })

/** Defines the tests that every limit store must pass. */
export function describeLimitStore(name: string, open: () => Promise<LimitStoreUnderTest>): void {
  describe(`${name} as a limit store`, () => {
    test('allows the quota and refuses the next', async () => {
      await using limits = await open()
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
      await using limits = await open()
      const stores = [limits.store, limits.sameStore ?? limits.store]
      const counts = await Promise.all(
        times(40).map((_, index) =>
          (stores[index % 2] ?? limits.store).take('key', { ...policy, quota: 10 }),
        ),
      )
      expect(counts.filter((count) => count.allowed)).toHaveLength(10)
    })

    test('counts keys apart', async () => {
      await using limits = await open()
      for (const _ of times(3)) await limits.store.take('key', policy)
      expect((await limits.store.take('key', policy)).allowed).toBe(false)
      expect((await limits.store.take('other', policy)).remaining).toBe(2)
    })

    test('allows one quota for two bursts either side of a window boundary, from two processes', async () => {
      await using limits = await open()
      const stores = [limits.store, limits.sameStore ?? limits.store]
      const burst = async () => {
        const counts = await Promise.all(
          times(20).map((_, index) => (stores[index % 2] ?? limits.store).take('key', policy)),
        )
        return counts.filter((count) => count.allowed).length
      }
      await limits.store.take('key', policy)
      await limits.advance(59)
      expect(await burst()).toBe(2)
      await limits.advance(2)
      expect(await burst()).toBe(1)
      await limits.advance(50)
      expect(await burst()).toBe(0)
      await limits.advance(17)
      expect(await burst()).toBe(3)
    })

    test('allows at most the quota, and little less, in any stretch of one window', {
      timeout: 60_000,
    }, async () => {
      await using limits = await open()
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

    test('counts the requests under the earlier key, and adds none to it', async () => {
      await using limits = await open()
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
      await using limits = await open()
      for (const _ of times(4)) await limits.store.take('key', policy)
      await limits.advance(50)
      const late = await limits.store.take('key', policy)
      expect(late.allowed).toBe(false)
      expect(late.resetSeconds).toBeGreaterThan(0)
      expect(late.resetSeconds).toBeLessThanOrEqual(10)
      await limits.advance(15)
      expect(await limits.store.take('key', policy)).toMatchObject({ allowed: true, remaining: 2 })
    })

    test('does not extend a window by refusing', async () => {
      await using limits = await open()
      for (const _ of times(30)) await limits.store.take('key', policy)
      await limits.advance(61)
      expect((await limits.store.take('key', policy)).allowed).toBe(true)
    })

    test('returns one random key for each day', async () => {
      await using limits = await open()
      const key = await limits.store.dailyKey('2026-01-01')
      expect(key).toHaveLength(32)
      expect(await limits.store.dailyKey('2026-01-01')).toEqual(key)
      expect(await (limits.sameStore ?? limits.store).dailyKey('2026-01-01')).toEqual(key)
      expect(await limits.store.dailyKey('2026-01-02')).not.toEqual(key)
    })
  })
}
