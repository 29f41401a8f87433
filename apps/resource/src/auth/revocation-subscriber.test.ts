import type { RevocationNotification } from '@plainpath/revocation'
import { expect, test } from 'vitest'
import type { ActiveIntrospection } from './introspection.ts'
import {
  createRevocationSubscriber,
  type InFlightIntrospection,
  type Subscribe,
} from './revocation-subscriber.ts'

const MARK = 'mark-1'
const LEASE_MS = 2_000
const introspection = (members: Partial<ActiveIntrospection> = {}): ActiveIntrospection => ({
  active: true,
  clientId: `agt_${'A'.repeat(22)}`,
  scopes: new Set(['guides:read']),
  audience: ['https://plainpath.example/api'],
  expiresAt: new Date('2030-01-01T00:00:00Z'),
  identityType: 'anonymous',
  revocationMark: MARK,
  ...members,
})
const { revocationMark: _mark, ...UNMARKED } = introspection()
const tokenRevoked = (number: number, hash: string, mark = MARK): RevocationNotification => ({
  mark,
  number,
  revoked: { kind: 'token', hash },
})

/** A subscriber whose subscription was granted at 0 with number 7. */
function subscribed(options: { maxCached?: number; cacheMs?: number } = {}) {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCached: 100,
    ...options,
  })
  const [command] = subscriber.onConnected(0) as [Subscribe]
  subscriber.onSubscribed(command, { mark: MARK, number: 7 }, 1)
  return subscriber
}
type Subscriber = ReturnType<typeof subscribed>

function inFlight(subscriber: Subscriber, hash: string, now: number): InFlightIntrospection {
  const source = subscriber.beginIntrospection(hash, now)
  if (source.from !== 'new') throw new Error(`${hash} was ${source.from}`)
  return source.inFlight
}
const cache = (subscriber: Subscriber, hash: string, now: number, result = introspection()) =>
  subscriber.finishIntrospection(inFlight(subscriber, hash, now), result, now)
const from = (subscriber: Subscriber, hash: string, now: number) =>
  subscriber.beginIntrospection(hash, now).from

test('uses cached introspections under a lease, which counts from before the command was sent', () => {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCached: 100,
  })
  expect(from(subscriber, 'a', 0)).toBe('uncached')
  const [command] = subscriber.onConnected(100) as [Subscribe]
  expect(from(subscriber, 'a', 101)).toBe('uncached')
  subscriber.onSubscribed(command, { mark: MARK, number: 7 }, 900)
  cache(subscriber, 'a', 901)
  expect(subscriber.beginIntrospection('a', 100 + LEASE_MS - 1)).toEqual({
    from: 'cache',
    introspection: introspection(),
  })
  expect(from(subscriber, 'a', 100 + LEASE_MS)).toBe('uncached')
  const [renewal] = subscriber.tick(2_000)
  expect(renewal).toEqual({ do: 'acknowledge', id: 'api.1', mark: MARK, lastSeen: 7, sentAt: 2_000 })
  if (renewal?.do === 'acknowledge') subscriber.onAcknowledged(renewal, 7, 3_500)
  expect([from(subscriber, 'a', 3_999), from(subscriber, 'a', 4_000)]).toEqual(['cache', 'uncached'])
})

test('shares introspections in flight only under a lease', () => {
  const subscriber = subscribed()
  const first = inFlight(subscriber, 'a', 10)
  expect(subscriber.beginIntrospection('a', 11)).toEqual({ from: 'shared', inFlight: first })
  expect(from(subscriber, 'b', 12)).toBe('new')
  expect(from(subscriber, 'a', LEASE_MS)).toBe('uncached')
})

test.for<[string, (subscriber: Subscriber) => unknown, Record<string, string>]>([
  ['a token', (s) => s.onNotification(tokenRevoked(8, 'a'), 20), { a: 'new', b: 'cache', c: 'shared' }],
  [
    'a client',
    (s) =>
      s.onNotification(
        { mark: MARK, number: 8, revoked: { kind: 'client', id: introspection().clientId } },
        20,
      ),
    { a: 'new', b: 'cache', c: 'new' },
  ],
  [
    'everything, as after the revocation of a key',
    (s) => s.onNotification({ mark: MARK, number: 8, revoked: { kind: 'everything' } }, 20),
    { a: 'new', b: 'new', c: 'new' },
  ],
  [
    'a number with a gap before it',
    (s) => s.onNotification(tokenRevoked(9, 'z'), 20),
    { a: 'new', b: 'new', c: 'new' },
  ],
  [
    'a number that was received already',
    (s) => s.onNotification(tokenRevoked(7, 'a'), 20),
    { a: 'cache', b: 'cache', c: 'shared' },
  ],
])('removes the introspections that a notification of %s revokes', ([, notify, expected]) => {
  const subscriber = subscribed()
  cache(subscriber, 'a', 10)
  cache(subscriber, 'b', 10, introspection({ clientId: `agt_${'B'.repeat(22)}` }))
  inFlight(subscriber, 'c', 10)
  notify(subscriber)
  expect(Object.fromEntries(['a', 'b', 'c'].map((hash) => [hash, from(subscriber, hash, 21)]))).toEqual(
    expected,
  )
})

test('does not cache an introspection whose token was revoked while it was in flight', () => {
  const subscriber = subscribed()
  const slow = inFlight(subscriber, 'a', 10)
  expect(subscriber.onNotification(tokenRevoked(8, 'a'), 500)).toMatchObject([
    { do: 'acknowledge', lastSeen: 8 },
  ])
  subscriber.finishIntrospection(slow, introspection(), 1_500)
  expect(from(subscriber, 'a', 1_501)).toBe('new')
})

test('acknowledges a number after removing the revoked introspections, and never a lower one', () => {
  const subscriber = subscribed()
  expect(subscriber.onNotification(tokenRevoked(8, 'a'), 10)).toMatchObject([{ lastSeen: 8 }])
  expect(subscriber.onNotification(tokenRevoked(8, 'a'), 11)).toEqual([])
  expect(subscriber.tick(12)).toMatchObject([{ lastSeen: 8 }])
})

test.for<[string, (subscriber: Subscriber) => unknown]>([
  ['the connection is lost', (s) => s.onDisconnected()],
  ['the store does not know the subscription', (s) => s.onAcknowledged(acknowledgeOf(s), undefined, 20)],
  ['the store has a number that was never received', (s) => s.onAcknowledged(acknowledgeOf(s), 9, 20)],
  ['the number of the store went back', (s) => s.onAcknowledged(acknowledgeOf(s), 6, 20)],
  ['a notification has another mark', (s) => s.onNotification(tokenRevoked(8, 'z', 'mark-2'), 20)],
  ['a notification cannot be parsed', (s) => s.onNotification(undefined, 20)],
])('drops the lease at once when %s, and removes everything before it gets another', ([, fail]) => {
  const subscriber = subscribed()
  cache(subscriber, 'a', 10)
  const slow = inFlight(subscriber, 'b', 10)
  fail(subscriber)
  expect([subscriber.isValid(21), from(subscriber, 'a', 21), from(subscriber, 'b', 21)]).toEqual([
    false,
    'uncached',
    'uncached',
  ])
  const [command] = subscriber.onConnected(30) as [Subscribe]
  expect(command).toMatchObject({ do: 'subscribe' })
  expect(command.id).not.toBe('api.1')
  subscriber.onSubscribed(command, { mark: MARK, number: 20 }, 31)
  subscriber.finishIntrospection(slow, introspection(), 32)
  expect([from(subscriber, 'a', 33), from(subscriber, 'b', 33)]).toEqual(['new', 'new'])
})
const acknowledgeOf = (subscriber: Subscriber) => {
  const [renewal] = subscriber.tick(15)
  if (renewal?.do !== 'acknowledge') throw new Error('not subscribed')
  return renewal
}

test('renews the lease only with the number of the store', () => {
  const subscriber = subscribed()
  const early = acknowledgeOf(subscriber)
  const [acknowledgement] = subscriber.onNotification(tokenRevoked(8, 'a'), 16)
  expect(subscriber.onAcknowledged(early, 8, 17)).toEqual([])
  expect(subscriber.isValid(LEASE_MS)).toBe(false)
  if (acknowledgement?.do === 'acknowledge') subscriber.onAcknowledged(acknowledgement, 8, 18)
  expect(subscriber.isValid(LEASE_MS)).toBe(true)
})

test('acknowledges a notification that arrived before the reply to a subscribe command, after that reply', () => {
  const subscriber = subscribed()
  subscriber.onDisconnected()
  const [command] = subscriber.onConnected(30) as [Subscribe]
  expect(subscriber.onNotification(tokenRevoked(9, 'a'), 31)).toEqual([])
  expect(subscriber.onSubscribed(command, { mark: MARK, number: 8 }, 32)).toMatchObject([
    { do: 'acknowledge', lastSeen: 9 },
  ])
})

test('ignores the reply to an earlier subscribe command or renewal', () => {
  const subscriber = subscribed()
  const late = acknowledgeOf(subscriber)
  subscriber.onDisconnected()
  const [first] = subscriber.onConnected(30) as [Subscribe]
  subscriber.onDisconnected()
  const [second] = subscriber.onConnected(40) as [Subscribe]
  subscriber.onSubscribed(first, { mark: MARK, number: 20 }, 41)
  expect(subscriber.onAcknowledged(late, undefined, 42)).toEqual([])
  expect(subscriber.isValid(43)).toBe(false)
  subscriber.onSubscribed(second, { mark: MARK, number: 20 }, 44)
  expect(subscriber.isValid(45)).toBe(true)
})

test('has no lease where no server publishes revocations, and subscribes again at the next tick', () => {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCached: 100,
  })
  const [command] = subscriber.onConnected(0) as [Subscribe]
  expect(subscriber.tick(1)).toEqual([])
  expect(subscriber.onSubscribed(command, undefined, 2)).toEqual([])
  expect(subscriber.isValid(3)).toBe(false)
  expect(subscriber.tick(500)).toMatchObject([{ do: 'subscribe' }])
})

test.for<[string, Parameters<Subscriber['finishIntrospection']>[1]]>([
  ['that is inactive', { active: false }],
  ['that failed', undefined],
  ['whose revocation no store publishes', UNMARKED],
  ['whose revocation another store publishes', introspection({ revocationMark: 'mark-2' })],
])('does not cache an introspection %s', ([, result]) => {
  const subscriber = subscribed()
  subscriber.finishIntrospection(inFlight(subscriber, 'a', 10), result, 11)
  expect(from(subscriber, 'a', 12)).toBe('new')
})

test('does not cache an introspection that arrives after the lease has expired', () => {
  const subscriber = subscribed()
  const slow = inFlight(subscriber, 'a', 10)
  const [renewal] = subscriber.tick(LEASE_MS - 1)
  subscriber.finishIntrospection(slow, introspection(), LEASE_MS)
  if (renewal?.do === 'acknowledge') subscriber.onAcknowledged(renewal, 7, LEASE_MS + 1)
  expect(from(subscriber, 'a', LEASE_MS + 2)).toBe('new')
})

test('caches no introspection for longer than cacheMs, and no more than maxCached', () => {
  const subscriber = subscribed({ cacheMs: 100, maxCached: 2 })
  for (const hash of ['a', 'b']) cache(subscriber, hash, 10)
  expect(from(subscriber, 'a', 20)).toBe('cache')
  cache(subscriber, 'c', 30)
  expect(subscriber.size).toBe(2)
  expect([from(subscriber, 'a', 40), from(subscriber, 'b', 40), from(subscriber, 'c', 40)]).toEqual([
    'cache',
    'new',
    'cache',
  ])
  expect([from(subscriber, 'a', 110), from(subscriber, 'c', 110)]).toEqual(['new', 'cache'])
})
