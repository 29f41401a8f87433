import { describe, expect, test } from 'vitest'
import { createSharedLimitStore } from '../../test/create-shared-limit-store.ts'
import { describeLimitStore, describeSharedLimitStore } from './limit-store.contract.ts'
import type { LimitPolicy, LimitStore } from './limit-store.ts'
import { createPrefetchingLimitStore } from './prefetching-limit-store.ts'

const reads: LimitPolicy = { name: 'reads', quota: 200, windowSeconds: 60, batch: 10 }
const STORE_ERROR = new Error('the store is unavailable')

/** Creates a shared store that can fail, and its clock. `createProcessStore` creates a process's store, which counts in it. */
function setUp() {
  const clock = { at: Date.UTC(2026, 0, 1, 12) }
  const now = () => new Date(clock.at)
  const storeState = { callCount: 0, isBroken: false }
  const shared = createSharedLimitStore(now, () => {
    storeState.callCount += 1
    if (storeState.isBroken) throw STORE_ERROR
  })
  return { clock, storeState, createProcessStore: () => createPrefetchingLimitStore(shared, now), shared }
}

const times = (count: number) => Array.from({ length: count })
/** Sends this many requests, one after the other, and counts how many were allowed. */
async function countAllowed(count: number, store: LimitStore, policy = reads): Promise<number> {
  let allowed = 0
  for (const _ of times(count)) if ((await store.take('key', policy)).allowed) allowed += 1
  return allowed
}

describeLimitStore('a prefetching process, for policies without a batch,', async () => {
  const { clock, createProcessStore } = setUp()
  return {
    store: createProcessStore(),
    sameStore: createProcessStore(),
    async advance(seconds) {
      clock.at += seconds * 1000
    },
    async [Symbol.asyncDispose]() {},
  }
})

describeSharedLimitStore('the shared store of these tests', async () => ({
  store: setUp().shared,
  async [Symbol.asyncDispose]() {},
}))

describe('a policy with a batch', () => {
  test('allows one process exactly the quota, with far fewer calls to the store', async () => {
    const { storeState, createProcessStore } = setUp()
    expect(await countAllowed(210, createProcessStore())).toBe(200)
    // Calls for 1, 2, 4 and 7 requests, then for 8 whenever two are left. The last 64 are fetched in ever smaller batches.
    // Ten calls are refused.
    expect(storeState.callCount).toBeLessThan(70)
  })

  test('allows two processes at most one batch each above the quota in any window', async () => {
    const { clock, createProcessStore } = setUp()
    const allowedAtMs: number[] = []
    const stores = [createProcessStore(), createProcessStore()]
    for (let step = 0; step < 1_500; step += 1) {
      // 173 and 397 are prime, so bursts and pauses do not align with the window.
      clock.at += (step * 173) % 397
      const store = stores[step % 2]
      if (store && (await store.take('key', reads)).allowed) allowedAtMs.push(clock.at)
    }
    const maxCount = Math.max(
      ...allowedAtMs.map((from) => allowedAtMs.filter((at) => at >= from && at < from + 60_000).length),
    )
    // Shows that the traffic comes near the quota. Otherwise the test would prove nothing.
    expect(maxCount).toBeGreaterThan(150)
    expect(maxCount).toBeLessThanOrEqual(200 + 2 * 10)
  })

  test('allows four processes together the quota, less at most a batch for each', async () => {
    const { createProcessStore } = setUp()
    const stores = times(4).map(() => createProcessStore())
    let allowed = 0
    for (const _ of times(200)) for (const store of stores) allowed += await countAllowed(1, store)
    expect(allowed).toBeLessThanOrEqual(200)
    expect(allowed).toBeGreaterThanOrEqual(200 - 4 * 10)
  })

  test('allows eight processes together all requests of a caller that uses three quarters of its quota', async () => {
    const { clock, createProcessStore } = setUp()
    const stores = times(8).map(() => createProcessStore())
    const policy = { ...reads, quota: 120 }
    // 90 requests in each of five windows.
    const requestCount = 5 * 90
    let allowed = 0
    for (let request = 0; request < requestCount; request += 1) {
      clock.at += 60_000 / 90
      allowed += await countAllowed(1, stores[request % 8]!, policy)
      // Lets a prefetch end before the next request.
      await new Promise(setImmediate)
    }
    expect(allowed).toBe(requestCount)
  })

  test('fetches the next batch before the current one is used up', async () => {
    const { storeState, createProcessStore } = setUp()
    const store = createProcessStore()
    await countAllowed(30, store)
    for (let count = 0; count < 100; count += 1) {
      const take = store.local?.offer('key', reads)
      expect(take?.()).toMatchObject({ allowed: true })
      // Waits for the store's reply, if a prefetch is in flight and nothing else is left.
      await expect.poll(() => store.local?.offer('key', reads)).toBeDefined()
    }
    expect(storeState.callCount).toBeLessThan(30)
  })

  test('counts the requests of yesterday that are still in the window when it prefetches', async () => {
    const { createProcessStore, shared } = setUp()
    for (const _ of times(100)) await shared.take('yesterday', reads)
    const store = createProcessStore()
    let allowed = 0
    for (const _ of times(150)) if ((await store.take('today', reads, 'yesterday')).allowed) allowed += 1
    expect(allowed).toBe(100)
  })

  test('counts a single request for the first request of a caller', async () => {
    const { createProcessStore, shared } = setUp()
    const store = createProcessStore()
    await store.take('key', reads)
    expect(await shared.take('key', reads)).toMatchObject({ remaining: 198 })
  })

  test('evicts the least recently used batches when all batches take too much memory', async () => {
    const { createProcessStore, storeState } = setUp()
    const store = createProcessStore()
    /** Takes two requests. Returns the number of store calls: two for a new key, and one if a batch is stored. */
    const takeTwice = async (key: string) => {
      const callsBefore = storeState.callCount
      for (const _ of times(2)) await store.take(key, reads)
      return storeState.callCount - callsBefore
    }
    for (const key of ['first', 'second']) await takeTwice(key)
    const callsWithCachedBatch = await takeTwice('second')
    // The keys alone take 40 MB, which is more than `MAX_BATCHES_BYTES`.
    for (let index = 0; index < 20_000; index += 1) await store.take(`${'x'.repeat(1_000)}${index}`, reads)
    const callsAfterEviction = await takeTwice('first')
    expect([callsWithCachedBatch, callsAfterEviction]).toEqual([1, 2])
  })

  test('decreases the remaining quota by one with each request', async () => {
    const { createProcessStore } = setUp()
    const store = createProcessStore()
    const remaining = []
    for (const _ of times(40)) remaining.push((await store.take('key', reads)).remaining)
    expect(remaining).toEqual(times(40).map((_, index) => 199 - index))
  })

  test('allows 250 concurrent requests exactly the quota, with few calls to the store', async () => {
    const { storeState, createProcessStore } = setUp()
    const store = createProcessStore()
    const counts = await Promise.all(times(250).map(() => store.take('key', reads)))
    expect(counts.filter(({ allowed }) => allowed)).toHaveLength(200)
    expect(storeState.callCount).toBeLessThan(60)
  })

  test('calls the store for each request if the quota is as small as 9', async () => {
    const { storeState, createProcessStore } = setUp()
    // A batch is at most a tenth of the quota, which is less than one request here.
    expect(await countAllowed(12, createProcessStore(), { ...reads, quota: 9 })).toBe(9)
    expect(storeState.callCount).toBe(12)
  })

  test('drops a batch when the store stops counting it', async () => {
    const { clock, createProcessStore } = setUp()
    const store = createProcessStore()
    await countAllowed(20, store)
    clock.at += 60_000
    expect(await store.take('key', reads)).toMatchObject({ allowed: true, remaining: 199 })
  })

  test('uses up its batch while the store fails, then rejects until the store works again', async () => {
    const { storeState, createProcessStore } = setUp()
    const store = createProcessStore()
    await countAllowed(20, store)
    storeState.isBroken = true
    let takenCount = 0
    await expect(
      (async () => {
        for (; takenCount < 100; takenCount += 1) await store.take('key', reads)
      })(),
    ).rejects.toBe(STORE_ERROR)
    expect(takenCount).toBeLessThanOrEqual(10)
    storeState.isBroken = false
    expect((await store.take('key', reads)).allowed).toBe(true)
  })
})
