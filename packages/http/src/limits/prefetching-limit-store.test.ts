import { describe, expect, test } from 'vitest'
import { describeLimitStore } from './limit-store.contract.ts'
import { createMemoryLimitStore, type LimitPolicy, type LimitStore } from './limit-store.ts'
import { createPrefetchingLimitStore, type SharedLimitStore } from './prefetching-limit-store.ts'

const reads: LimitPolicy = { name: 'reads', quota: 200, windowSeconds: 60, batch: 10 }
const BROKEN = new Error('the store is unavailable')

/** A shared store, and any number of processes that count in it. */
function start() {
  const clock = { at: Date.UTC(2026, 0, 1, 12) }
  const now = () => new Date(clock.at)
  const memory = createMemoryLimitStore(now)
  const state = { calls: 0, broken: false }
  const shared: SharedLimitStore = {
    ...memory,
    cachedDailyKey: () => undefined,
    async takeUpTo(key, policy, maxCount, yesterdaysKey) {
      state.calls += 1
      if (state.broken) throw BROKEN
      // Atomically, as a real store counts.
      const counts = await Promise.all(times(maxCount).map(() => memory.take(key, policy, yesterdaysKey)))
      const taken = counts.filter(({ allowed }) => allowed)
      return { ...(taken.at(-1) ?? counts[0])!, taken: taken.length }
    },
  }
  return { clock, state, process: () => createPrefetchingLimitStore(shared, now), now, shared }
}

const times = (count: number) => Array.from({ length: count })
async function countAllowed(count: number, store: LimitStore, policy = reads): Promise<number> {
  let allowed = 0
  for (const _ of times(count)) if ((await store.take('key', policy)).allowed) allowed += 1
  return allowed
}

describeLimitStore('a prefetching process, for policies without a batch,', async () => {
  const { clock, process } = start()
  return {
    store: process(),
    sameStore: process(),
    async advance(seconds) {
      clock.at += seconds * 1000
    },
    async [Symbol.asyncDispose]() {},
  }
})

describe('a policy with a batch', () => {
  test('allows one process exactly the quota, with far fewer calls to the store', async () => {
    const { state, process } = start()
    expect(await countAllowed(210, process())).toBe(200)
    // Batches of 1, 2, 4, then 8 whenever two are left; and ten refusals.
    expect(state.calls).toBeLessThan(45)
  })

  test('allows at most one batch above the quota for each process, in any window and at any pace', async () => {
    const { clock, process } = start()
    const taken: number[] = []
    const stores = [process(), process()]
    for (let step = 0; step < 1_500; step += 1) {
      // 173 and 397 are prime: bursts and pauses that fit no window.
      clock.at += (step * 173) % 397
      const store = stores[step % 2]
      if (store && (await store.take('key', reads)).allowed) taken.push(clock.at)
    }
    const maxCount = Math.max(
      ...taken.map((from) => taken.filter((at) => at >= from && at < from + 60_000).length),
    )
    expect(maxCount).toBeGreaterThan(150)
    expect(maxCount).toBeLessThanOrEqual(200 + 2 * 10)
  })

  test('allows several processes together at most the quota, and at least the quota less a batch for each', async () => {
    const { process } = start()
    const stores = times(4).map(() => process())
    let allowed = 0
    for (const _ of times(200)) for (const store of stores) allowed += await countAllowed(1, store)
    expect(allowed).toBeLessThanOrEqual(200)
    expect(allowed).toBeGreaterThanOrEqual(200 - 4 * 10)
  })

  test('fetches the next batch before the current one is used up, so that frequent callers never wait', async () => {
    const { state, process } = start()
    const store = process()
    await countAllowed(30, store)
    for (let count = 0; count < 100; count += 1) {
      const take = store.local?.offer('key', reads)
      expect(take?.()).toMatchObject({ allowed: true })
      // The store replies in the meantime.
      await expect.poll(() => store.local?.offer('key', reads)).toBeDefined()
    }
    expect(state.calls).toBeLessThan(30)
  })

  test('counts infrequent callers exactly', async () => {
    const { process, shared } = start()
    const store = process()
    await store.take('key', reads)
    expect(await shared.take('key', reads)).toMatchObject({ remaining: 198 })
  })

  test('reports one less of the quota with each request', async () => {
    const { process } = start()
    const store = process()
    const remaining = []
    for (const _ of times(40)) remaining.push((await store.take('key', reads)).remaining)
    expect(remaining).toEqual(times(40).map((_, index) => 199 - index))
  })

  test('has one call to the store in flight, and shares a refusal among the requests that wait', async () => {
    const { state, process } = start()
    const store = process()
    const counts = await Promise.all(times(250).map(() => store.take('key', reads)))
    expect(counts.filter(({ allowed }) => allowed)).toHaveLength(200)
    expect(state.calls).toBeLessThan(30)
  })

  test('prefetches nothing if a batch would be more than a tenth of the quota', async () => {
    const { state, process } = start()
    expect(await countAllowed(12, process(), { ...reads, quota: 9 })).toBe(9)
    expect(state.calls).toBe(12)
  })

  test('drops a batch when the store stops counting it', async () => {
    const { clock, process } = start()
    const store = process()
    await countAllowed(20, store)
    clock.at += 60_000
    expect(await store.take('key', reads)).toMatchObject({ allowed: true, remaining: 199 })
  })

  test('uses up its batch while the store fails, then reports the failure', async () => {
    const { state, process } = start()
    const store = process()
    await countAllowed(20, store)
    state.broken = true
    let taken = 0
    await expect(
      (async () => {
        for (; taken < 100; taken += 1) await store.take('key', reads)
      })(),
    ).rejects.toBe(BROKEN)
    expect(taken).toBeLessThanOrEqual(10)
    state.broken = false
    expect((await store.take('key', reads)).allowed).toBe(true)
  })
})
