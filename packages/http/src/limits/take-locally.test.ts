import { DAY_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createMemoryLimitStore, type LimitPolicy } from './limit-store.ts'
import { createTakeLocally } from './limiter.ts'

const NOON = Date.UTC(2026, 10, 22, 12)
const policy = (name: string, quota: number): LimitPolicy => ({ name, quota, windowSeconds: 60 })
const limits = { address: [policy('address', 5)], anonymous: [policy('all', 4)], client: [policy('one', 3)] }

function start() {
  const clock = { at: NOON }
  const now = () => new Date(clock.at)
  const store = createMemoryLimitStore(now)
  const offered: string[] = []
  const { cachedDailyKey, offer } = store.local
  const local = {
    cachedDailyKey,
    offer: (hash: string, of: LimitPolicy) => (offered.push(hash), offer(hash, of)),
  }
  return { clock, offered, take: createTakeLocally({ store: { ...store, local }, factor: 1, now }) }
}

const remaining = (states: ReturnType<ReturnType<typeof start>['take']>) =>
  states?.map((state) => [state.policy.name, state.remaining])

test('counts a returning caller under the same keys, and no other caller under them', () => {
  const { take } = start()
  const ask = (address: string, clientId?: string) =>
    remaining(take(limits, address, clientId === undefined ? undefined : { clientId }))
  expect(ask('203.0.113.7')).toEqual([
    ['address', 4],
    ['all', 3],
  ])
  expect(ask('203.0.113.7')?.at(-1)).toEqual(['all', 2])
  expect(ask('203.0.113.8')?.at(-1)).toEqual(['all', 3])
  expect(ask('203.0.113.7', 'agt_a')).toEqual([
    ['address', 2],
    ['one', 2],
  ])
  expect(ask('203.0.113.7', 'agt_b')?.at(-1)).toEqual(['one', 2])
  // A client has the same count from every address.
  expect(ask('203.0.113.9', 'agt_a')?.at(-1)).toEqual(['one', 1])
})

test('applies the limits of each route to the same caller', () => {
  const { take } = start()
  take(limits, '203.0.113.7')
  expect(remaining(take({ address: [policy('other', 9)] }, '203.0.113.7'))).toEqual([['other', 8]])
})

test('counts no request under the key of yesterday', () => {
  const { clock, offered, take } = start()
  take(limits, '203.0.113.7', { clientId: 'agt_a' })
  clock.at += DAY_MS
  take(limits, '203.0.113.7', { clientId: 'agt_a' })
  expect(offered).toHaveLength(4)
  expect(new Set(offered)).toHaveLength(4)
})

test('counts nothing against a policy when another policy refuses', () => {
  const { take } = start()
  for (const _ of [1, 2, 3]) expect(take(limits, '2001:db8::1', { clientId: 'agt_a' })).toBeDefined()
  expect(take(limits, '2001:db8::1', { clientId: 'agt_a' })).toBeUndefined()
  expect(remaining(take(limits, '2001:db8::1', { clientId: 'agt_b' }))?.[0]).toEqual(['address', 1])
})
