import { describe, expect, test } from 'vitest'
import { limitStoreContract } from './limit-store.contract.ts'
import { type LimitPolicy, type LimitStore, memoryLimitStore } from './limit-store.ts'
import { type SharedLimitStore, takeAhead } from './take-ahead.ts'

const reads: LimitPolicy = { name: 'reads', quota: 200, windowSeconds: 60, batch: 10 }
const BROKEN = new Error('the store is away')

/** One store, and as many processes as are wanted that count with it. */
function start() {
  const clock = { at: Date.UTC(2026, 0, 1, 12) }
  const now = () => new Date(clock.at)
  const memory = memoryLimitStore(now)
  const state = { asked: 0, broken: false }
  const shared: SharedLimitStore = {
    ...memory,
    knownKey: () => undefined,
    async takeSome(key, policy, most, before) {
      state.asked += 1
      if (state.broken) throw BROKEN
      // In one step, as a store does.
      const counts = await Promise.all(times(most).map(() => memory.take(key, policy, before)))
      const taken = counts.filter(({ allowed }) => allowed)
      return { ...(taken.at(-1) ?? counts[0])!, taken: taken.length }
    },
  }
  return { clock, state, process: () => takeAhead(shared, now), now, shared }
}

const times = (count: number) => Array.from({ length: count })
async function allowedOf(count: number, store: LimitStore, policy = reads): Promise<number> {
  let allowed = 0
  for (const _ of times(count)) if ((await store.take('key', policy)).allowed) allowed += 1
  return allowed
}

limitStoreContract('a process that may take ahead, of policies without a batch,', async () => {
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
  test('allows one process the quota exactly, and asks the store a fraction as often', async () => {
    const { state, process } = start()
    expect(await allowedOf(210, process())).toBe(200)
    // 1, 2, 4, 8, then ever eight more while two are left; and ten refusals.
    expect(state.asked).toBeLessThan(45)
  })

  test('in any window allows at most one batch more for each process, whatever comes when', async () => {
    const { clock, process } = start()
    const taken: number[] = []
    const stores = [process(), process()]
    for (let step = 0; step < 1_500; step += 1) {
      // 173 and 397 are prime: bursts and pauses that fit no window.
      clock.at += (step * 173) % 397
      const store = stores[step % 2]
      if (store && (await store.take('key', reads)).allowed) taken.push(clock.at)
    }
    const most = Math.max(
      ...taken.map((from) => taken.filter((at) => at >= from && at < from + 60_000).length),
    )
    expect(most).toBeGreaterThan(150)
    expect(most).toBeLessThanOrEqual(200 + 2 * 10)
  })

  test('never allows more processes together than the quota at one moment, and at most a batch each less', async () => {
    const { process } = start()
    const stores = times(4).map(() => process())
    let allowed = 0
    for (const _ of times(200)) for (const store of stores) allowed += await allowedOf(1, store)
    expect(allowed).toBeLessThanOrEqual(200)
    expect(allowed).toBeGreaterThanOrEqual(200 - 4 * 10)
  })

  test('takes more before what it has is used up, so that who comes often need not wait', async () => {
    const { state, process } = start()
    const store = process()
    await allowedOf(30, store)
    for (let count = 0; count < 100; count += 1) {
      const take = store.here?.offer('key', reads)
      expect(take?.()).toMatchObject({ allowed: true })
      // The store answers meanwhile.
      await expect.poll(() => store.here?.offer('key', reads)).toBeDefined()
    }
    expect(state.asked).toBeLessThan(30)
  })

  test('counts whoever asks seldom exactly', async () => {
    const { process, shared } = start()
    const store = process()
    await store.take('key', reads)
    expect(await shared.take('key', reads)).toMatchObject({ remaining: 198 })
  })

  test('announces what is left, and less with each request', async () => {
    const { process } = start()
    const store = process()
    const remaining = []
    for (const _ of times(40)) remaining.push((await store.take('key', reads)).remaining)
    expect(remaining).toEqual(times(40).map((_, index) => 199 - index))
  })

  test('asks the store once at a time, however many ask at once, and for a refusal once for all of them', async () => {
    const { state, process } = start()
    const store = process()
    const counts = await Promise.all(times(250).map(() => store.take('key', reads)))
    expect(counts.filter(({ allowed }) => allowed)).toHaveLength(200)
    expect(state.asked).toBeLessThan(30)
  })

  test('takes nothing ahead where a batch would be more than a tenth of the quota', async () => {
    const { state, process } = start()
    expect(await allowedOf(12, process(), { ...reads, quota: 9 })).toBe(9)
    expect(state.asked).toBe(12)
  })

  test('forgets what it took ahead when the store has forgotten it', async () => {
    const { clock, process } = start()
    const store = process()
    await allowedOf(20, store)
    clock.at += 60_000
    expect(await store.take('key', reads)).toMatchObject({ allowed: true, remaining: 199 })
  })

  test('fails as the store fails, and goes on with what it took', async () => {
    const { state, process } = start()
    const store = process()
    await allowedOf(20, store)
    state.broken = true
    let answered = 0
    await expect(
      (async () => {
        for (; answered < 100; answered += 1) await store.take('key', reads)
      })(),
    ).rejects.toBe(BROKEN)
    expect(answered).toBeLessThanOrEqual(10)
    state.broken = false
    expect((await store.take('key', reads)).allowed).toBe(true)
  })
})
