import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitPolicy, LimitStore } from './limit-store.ts'

export interface LimitStoreUnderTest extends AsyncDisposable {
  readonly store: LimitStore
  /** The same counts, seen by another process; undefined when a store is never shared. */
  readonly sameStore?: LimitStore
  /** Lets time pass for what the store keeps. */
  advance(seconds: number): Promise<void>
}

const policy: LimitPolicy = { name: 'writes', quota: 3, windowSeconds: 60 }
const times = (count: number) => Array.from({ length: count })

/** What every store of limits must do. */
export function limitStoreContract(name: string, open: () => Promise<LimitStoreUnderTest>): void {
  describe(`${name} as a limit store`, () => {
    test('allows the quota and refuses the next', async () => {
      await using opened = await open()
      const taken = []
      for (const _ of times(5)) taken.push(await opened.store.take('key', policy))
      expect(taken.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ])
      for (const { resetSeconds } of taken) {
        expect(Number.isInteger(resetSeconds)).toBe(true)
        expect(resetSeconds).toBeGreaterThan(55)
        expect(resetSeconds).toBeLessThanOrEqual(60)
      }
    })

    test('allows exactly the quota among concurrent requests', async () => {
      await using opened = await open()
      const stores = [opened.store, opened.sameStore ?? opened.store]
      const taken = await Promise.all(
        times(40).map((_, index) =>
          (stores[index % 2] ?? opened.store).take('key', { ...policy, quota: 10 }),
        ),
      )
      expect(taken.filter((count) => count.allowed)).toHaveLength(10)
    })

    test('counts keys apart', async () => {
      await using opened = await open()
      for (const _ of times(3)) await opened.store.take('key', policy)
      expect((await opened.store.take('key', policy)).allowed).toBe(false)
      expect((await opened.store.take('other', policy)).remaining).toBe(2)
    })

    test('allows one quota for two bursts either side of a window boundary, from two processes', async () => {
      await using opened = await open()
      const stores = [opened.store, opened.sameStore ?? opened.store]
      const burst = async () => {
        const taken = await Promise.all(
          times(20).map((_, index) => (stores[index % 2] ?? opened.store).take('key', policy)),
        )
        return taken.filter((count) => count.allowed).length
      }
      await opened.store.take('key', policy)
      await opened.advance(59)
      expect(await burst()).toBe(2)
      await opened.advance(2)
      expect(await burst()).toBe(1)
      await opened.advance(50)
      expect(await burst()).toBe(0)
      await opened.advance(17)
      expect(await burst()).toBe(3)
    })

    test('allows at most the quota, and little less, in any stretch of one window', {
      timeout: 60_000,
    }, async () => {
      await using opened = await open()
      const step = fc.record({
        waitSeconds: fc.integer({ min: 0, max: 40 }),
        takes: fc.integer({ min: 1, max: 3 }),
      })
      let run = 0
      const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 15 }), async (steps) => {
        run += 1
        const taken: { at: number; allowed: boolean }[] = []
        let at = 0
        for (const { waitSeconds, takes } of steps) {
          await opened.advance(waitSeconds)
          at += waitSeconds
          for (const _ of times(takes)) {
            const since = (seconds: number) =>
              taken.filter((one) => one.allowed && one.at > at - seconds).length
            const { allowed } = await opened.store.take(`run ${run}`, policy)
            // A second for the time that the test itself takes.
            if (allowed) expect(since(policy.windowSeconds - 1)).toBeLessThan(policy.quota)
            else expect(since(policy.windowSeconds * 1.1 + 1)).toBeGreaterThanOrEqual(policy.quota)
            taken.push({ at, allowed })
          }
        }
      })
      await fc.assert(property, { numRuns: 25, seed: 148 })
    })

    test('counts the requests under the earlier key, and adds none to it', async () => {
      await using opened = await open()
      for (const _ of times(2)) await opened.store.take('yesterday', policy)
      await opened.advance(30)
      const taken = []
      for (const _ of times(3)) taken.push(await opened.store.take('today', policy, 'yesterday'))
      expect(taken.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 0],
        [false, 0],
        [false, 0],
      ])
      expect(taken[1]?.resetSeconds).toBeLessThanOrEqual(30)
      expect((await opened.store.take('yesterday', policy)).remaining).toBe(0)
      await opened.advance(31)
      expect((await opened.store.take('today', policy, 'yesterday')).allowed).toBe(true)
    })

    test('allows the quota again when the window is over, and not before', async () => {
      await using opened = await open()
      for (const _ of times(4)) await opened.store.take('key', policy)
      await opened.advance(50)
      const late = await opened.store.take('key', policy)
      expect(late.allowed).toBe(false)
      expect(late.resetSeconds).toBeGreaterThan(0)
      expect(late.resetSeconds).toBeLessThanOrEqual(10)
      await opened.advance(15)
      expect(await opened.store.take('key', policy)).toMatchObject({ allowed: true, remaining: 2 })
    })

    test('does not extend a window by refusing', async () => {
      await using opened = await open()
      for (const _ of times(30)) await opened.store.take('key', policy)
      await opened.advance(61)
      expect((await opened.store.take('key', policy)).allowed).toBe(true)
    })

    test('returns one random key for each day', async () => {
      await using opened = await open()
      const key = await opened.store.dailyKey('2026-01-01')
      expect(key).toHaveLength(32)
      expect(await opened.store.dailyKey('2026-01-01')).toEqual(key)
      expect(await (opened.sameStore ?? opened.store).dailyKey('2026-01-01')).toEqual(key)
      expect(await opened.store.dailyKey('2026-01-02')).not.toEqual(key)
    })
  })
}
