import { DAY_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createMemoryLimitStore, type LimitPolicy, type LimitState } from './limit-store.ts'
import { createTakeLocally } from './limiter.ts'

const NOON = Date.UTC(2026, 10, 22, 12)
const createPolicy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
const limits = {
  address: [createPolicy('address', 5)],
  anonymous: [createPolicy('anonymous', 4)],
  client: [createPolicy('client', 3)],
}

/** Creates a `take` with a memory store and a clock that the test sets. Records the keys under which requests are counted. */
function setUp() {
  const clock = { at: NOON }
  const now = () => new Date(clock.at)
  const store = createMemoryLimitStore(now)
  const offeredKeys: string[] = []
  const { getCachedDailyKey, offer } = store.local
  const local = {
    getCachedDailyKey,
    offer(key: string, offeredPolicy: LimitPolicy) {
      offeredKeys.push(key)
      return offer(key, offeredPolicy)
    },
  }
  return { clock, offeredKeys, take: createTakeLocally({ store: { ...store, local }, factor: 1, now }) }
}

const listRemaining = (states: readonly LimitState[] | undefined) =>
  states?.map((state) => [state.policy.name, state.remaining])

test('counts anonymous callers by address, and clients by id, whatever their address', () => {
  const { take } = setUp()
  const takeFor = (address: string, clientId?: string) =>
    listRemaining(take(limits, address, clientId === undefined ? undefined : { clientId }))
  expect(takeFor('203.0.113.7')).toEqual([
    ['address', 4],
    ['anonymous', 3],
  ])
  expect(takeFor('203.0.113.7')?.at(-1)).toEqual(['anonymous', 2])
  expect(takeFor('203.0.113.8')?.at(-1)).toEqual(['anonymous', 3])
  expect(takeFor('203.0.113.7', 'agt_a')).toEqual([
    ['address', 2],
    ['client', 2],
  ])
  expect(takeFor('203.0.113.7', 'agt_b')?.at(-1)).toEqual(['client', 2])
  // A client has the same count from every address.
  expect(takeFor('203.0.113.9', 'agt_a')?.at(-1)).toEqual(['client', 1])
})

test('counts the same caller separately for another route', () => {
  const { take } = setUp()
  take(limits, '203.0.113.7')
  expect(listRemaining(take({ address: [createPolicy('other', 9)] }, '203.0.113.7'))).toEqual([['other', 8]])
})

test('counts a caller under different keys on the next day', () => {
  const { clock, offeredKeys, take } = setUp()
  take(limits, '203.0.113.7', { clientId: 'agt_a' })
  clock.at += DAY_MS
  take(limits, '203.0.113.7', { clientId: 'agt_a' })
  // One key for the address and one for the client, on each of two days.
  expect(offeredKeys).toHaveLength(4)
  expect(new Set(offeredKeys)).toHaveLength(4)
})

test('counts nothing against the address limit when the client limit refuses a request', () => {
  const { take } = setUp()
  for (const _ of [1, 2, 3]) expect(take(limits, '2001:db8::1', { clientId: 'agt_a' })).toBeDefined()
  expect(take(limits, '2001:db8::1', { clientId: 'agt_a' })).toBeUndefined()
  // Four of five requests count against the address: those that were allowed.
  expect(listRemaining(take(limits, '2001:db8::1', { clientId: 'agt_b' }))?.[0]).toEqual(['address', 1])
})
