import { estimateEntryBytes } from '@plainpath/domain'
import type { RevocationNotification } from '@plainpath/revocation'
import { expect, test } from 'vitest'
import type { ActiveIntrospection, Introspection } from './introspection.ts'
import {
  createRevocationSubscriber,
  type InFlightIntrospection,
  type RevocationSubscriber,
  type Subscribe,
} from './revocation-subscriber.ts'

/*
 * These tests pass the replies of a store to the subscriber, without any store. `RevocationSubscriber` explains the lease. The
 * mark identifies the store's sequence of notifications, and `number` is a position in the sequence. Times are in milliseconds
 * and begin at 0. `a`, `b` and `c` stand for the hashes of tokens.
 */
const MARK = 'mark-1'
const LEASE_MS = 2_000
const createIntrospection = (members: Partial<ActiveIntrospection> = {}): ActiveIntrospection => ({
  active: true,
  clientId: `agt_${'A'.repeat(22)}`,
  scopes: new Set(['guides:read']),
  audience: ['https://plainpath.example/api'],
  expiresAt: new Date('2030-01-01T00:00:00Z'),
  identityType: 'anonymous',
  revocationMark: MARK,
  ...members,
})
const { revocationMark: _mark, ...UNMARKED } = createIntrospection()
/** Creates the notification with this number that revokes the token with this hash. */
const createTokenRevocation = (number: number, hash: string, mark = MARK): RevocationNotification => ({
  mark,
  number,
  revoked: { kind: 'token', hash },
})

/** Creates a subscriber whose subscription was requested at 0 and granted with number 7. */
function createSubscriberWithLease(options: { maxCachedBytes?: number; cacheMs?: number } = {}) {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCachedBytes: 100_000,
    estimateEntryBytes,
    ...options,
  })
  const [command] = subscriber.onConnected(0) as [Subscribe]
  subscriber.onSubscribed(command, { mark: MARK, number: 7 }, 1)
  return subscriber
}

function beginNewIntrospection(
  subscriber: RevocationSubscriber,
  hash: string,
  now: number,
): InFlightIntrospection {
  const source = subscriber.beginIntrospection(hash, now)
  if (source.from !== 'new') throw new Error(`${hash} was ${source.from}`)
  return source.inFlight
}
/** Introspects a token from start to end at `now`, so that the result is cached. */
const cacheResult = (
  subscriber: RevocationSubscriber,
  hash: string,
  now: number,
  result = createIntrospection(),
) => subscriber.finishIntrospection(beginNewIntrospection(subscriber, hash, now), result, now)
/** Returns where a request at `now` would get the introspection from. If that is `new`, it stays in flight. */
const getSource = (subscriber: RevocationSubscriber, hash: string, now: number) =>
  subscriber.beginIntrospection(hash, now).from

test('uses cached introspections under a lease, whose time begins when the subscribe command is sent', () => {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCachedBytes: 100_000,
    estimateEntryBytes,
  })
  expect(getSource(subscriber, 'a', 0)).toBe('uncached')
  const [command] = subscriber.onConnected(100) as [Subscribe]
  expect(getSource(subscriber, 'a', 101)).toBe('uncached')
  subscriber.onSubscribed(command, { mark: MARK, number: 7 }, 900)
  cacheResult(subscriber, 'a', 901)
  expect(subscriber.beginIntrospection('a', 100 + LEASE_MS - 1)).toEqual({
    from: 'cache',
    introspection: createIntrospection(),
  })
  expect(getSource(subscriber, 'a', 100 + LEASE_MS)).toBe('uncached')
  const [renewal] = subscriber.tick(2_000)
  expect(renewal).toEqual({ do: 'acknowledge', id: 'api.1', mark: MARK, lastSeen: 7, sentAt: 2_000 })
  if (renewal?.do === 'acknowledge') subscriber.onAcknowledged(renewal, 7, 3_500)
  expect([getSource(subscriber, 'a', 3_999), getSource(subscriber, 'a', 4_000)]).toEqual([
    'cache',
    'uncached',
  ])
})

test('shares introspections in flight only under a lease', () => {
  const subscriber = createSubscriberWithLease()
  const inFlight = beginNewIntrospection(subscriber, 'a', 10)
  expect(subscriber.beginIntrospection('a', 11)).toEqual({ from: 'shared', inFlight })
  expect(getSource(subscriber, 'b', 12)).toBe('new')
  expect(getSource(subscriber, 'a', LEASE_MS)).toBe('uncached')
})

test.for<[string, (subscriber: RevocationSubscriber) => unknown, Record<string, string>]>([
  [
    'that revokes a token',
    (subscriber) => subscriber.onNotification(createTokenRevocation(8, 'a'), 20),
    { a: 'new', b: 'cache', c: 'shared' },
  ],
  [
    'that revokes a client',
    (subscriber) =>
      subscriber.onNotification(
        { mark: MARK, number: 8, revoked: { kind: 'client', id: createIntrospection().clientId } },
        20,
      ),
    { a: 'new', b: 'cache', c: 'new' },
  ],
  [
    'that revokes everything',
    (subscriber) => subscriber.onNotification({ mark: MARK, number: 8, revoked: { kind: 'everything' } }, 20),
    { a: 'new', b: 'new', c: 'new' },
  ],
  [
    'with a gap before its number',
    (subscriber) => subscriber.onNotification(createTokenRevocation(9, 'z'), 20),
    { a: 'new', b: 'new', c: 'new' },
  ],
  [
    'with a number that was already received',
    (subscriber) => subscriber.onNotification(createTokenRevocation(7, 'a'), 20),
    { a: 'cache', b: 'cache', c: 'shared' },
  ],
])('removes only the introspections that may be revoked after a notification %s', ([, notify, expected]) => {
  const subscriber = createSubscriberWithLease()
  cacheResult(subscriber, 'a', 10)
  cacheResult(subscriber, 'b', 10, createIntrospection({ clientId: `agt_${'B'.repeat(22)}` }))
  beginNewIntrospection(subscriber, 'c', 10)
  notify(subscriber)
  expect(Object.fromEntries(['a', 'b', 'c'].map((hash) => [hash, getSource(subscriber, hash, 21)]))).toEqual(
    expected,
  )
})

test('does not cache an introspection whose token was revoked while it was in flight', () => {
  const subscriber = createSubscriberWithLease()
  const slowIntrospection = beginNewIntrospection(subscriber, 'a', 10)
  expect(subscriber.onNotification(createTokenRevocation(8, 'a'), 500)).toMatchObject([
    { do: 'acknowledge', lastSeen: 8 },
  ])
  subscriber.finishIntrospection(slowIntrospection, createIntrospection(), 1_500)
  expect(getSource(subscriber, 'a', 1_501)).toBe('new')
})

test('acknowledges a notification once, and repeats its number in each renewal', () => {
  const subscriber = createSubscriberWithLease()
  expect(subscriber.onNotification(createTokenRevocation(8, 'a'), 10)).toMatchObject([{ lastSeen: 8 }])
  expect(subscriber.onNotification(createTokenRevocation(8, 'a'), 11)).toEqual([])
  expect(subscriber.tick(12)).toMatchObject([{ lastSeen: 8 }])
})

test.for<[string, (subscriber: RevocationSubscriber) => unknown]>([
  ['the connection is lost', (subscriber) => subscriber.onDisconnected()],
  [
    'the store does not know the subscription',
    (subscriber) => subscriber.onAcknowledged(createRenewal(subscriber), undefined, 20),
  ],
  [
    'the store has a number that was never received',
    (subscriber) => subscriber.onAcknowledged(createRenewal(subscriber), 9, 20),
  ],
  [
    'the store has a smaller number than the acknowledged one',
    (subscriber) => subscriber.onAcknowledged(createRenewal(subscriber), 6, 20),
  ],
  [
    'a notification has another mark',
    (subscriber) => subscriber.onNotification(createTokenRevocation(8, 'z', 'mark-2'), 20),
  ],
  ['a notification cannot be parsed', (subscriber) => subscriber.onNotification(undefined, 20)],
])('drops the lease when %s, and uses no earlier introspection under the next lease', ([, loseLease]) => {
  const subscriber = createSubscriberWithLease()
  cacheResult(subscriber, 'a', 10)
  const slowIntrospection = beginNewIntrospection(subscriber, 'b', 10)
  loseLease(subscriber)
  expect([subscriber.isValid(21), getSource(subscriber, 'a', 21), getSource(subscriber, 'b', 21)]).toEqual([
    false,
    'uncached',
    'uncached',
  ])
  const [command] = subscriber.onConnected(30) as [Subscribe]
  expect(command).toMatchObject({ do: 'subscribe' })
  expect(command.id).not.toBe('api.1')
  subscriber.onSubscribed(command, { mark: MARK, number: 20 }, 31)
  subscriber.finishIntrospection(slowIntrospection, createIntrospection(), 32)
  expect([getSource(subscriber, 'a', 33), getSource(subscriber, 'b', 33)]).toEqual(['new', 'new'])
})
/** Creates the command that renews the lease, at the time 15. */
const createRenewal = (subscriber: RevocationSubscriber) => {
  const [renewal] = subscriber.tick(15)
  if (renewal?.do !== 'acknowledge') throw new Error('not subscribed')
  return renewal
}

test('renews the lease only if the acknowledged number is the last number of the store', () => {
  const subscriber = createSubscriberWithLease()
  const earlyRenewal = createRenewal(subscriber)
  const [acknowledgement] = subscriber.onNotification(createTokenRevocation(8, 'a'), 16)
  expect(subscriber.onAcknowledged(earlyRenewal, 8, 17)).toEqual([])
  expect(subscriber.isValid(LEASE_MS)).toBe(false)
  if (acknowledgement?.do === 'acknowledge') subscriber.onAcknowledged(acknowledgement, 8, 18)
  expect(subscriber.isValid(LEASE_MS)).toBe(true)
})

test('acknowledges a notification that arrives before the subscription is granted, once it is granted', () => {
  const subscriber = createSubscriberWithLease()
  subscriber.onDisconnected()
  const [command] = subscriber.onConnected(30) as [Subscribe]
  expect(subscriber.onNotification(createTokenRevocation(9, 'a'), 31)).toEqual([])
  expect(subscriber.onSubscribed(command, { mark: MARK, number: 8 }, 32)).toMatchObject([
    { do: 'acknowledge', lastSeen: 9 },
  ])
})

test('ignores the reply to an earlier subscribe command or renewal', () => {
  const subscriber = createSubscriberWithLease()
  const lateRenewal = createRenewal(subscriber)
  subscriber.onDisconnected()
  const [earlierCommand] = subscriber.onConnected(30) as [Subscribe]
  subscriber.onDisconnected()
  const [command] = subscriber.onConnected(40) as [Subscribe]
  subscriber.onSubscribed(earlierCommand, { mark: MARK, number: 20 }, 41)
  expect(subscriber.onAcknowledged(lateRenewal, undefined, 42)).toEqual([])
  expect(subscriber.isValid(43)).toBe(false)
  subscriber.onSubscribed(command, { mark: MARK, number: 20 }, 44)
  expect(subscriber.isValid(45)).toBe(true)
})

test('has no lease if the store refuses the subscription, and subscribes again at the next tick', () => {
  const subscriber = createRevocationSubscriber({
    name: 'api',
    leaseMs: LEASE_MS,
    cacheMs: 30_000,
    maxCachedBytes: 100_000,
    estimateEntryBytes,
  })
  const [command] = subscriber.onConnected(0) as [Subscribe]
  expect(subscriber.tick(1)).toEqual([])
  expect(subscriber.onSubscribed(command, undefined, 2)).toEqual([])
  expect(subscriber.isValid(3)).toBe(false)
  expect(subscriber.tick(500)).toMatchObject([{ do: 'subscribe' }])
})

test.for<[string, Introspection | undefined]>([
  ['that is inactive', { active: false }],
  ['that failed', undefined],
  ['whose revocation no store publishes', UNMARKED],
  ['whose revocation another store publishes', createIntrospection({ revocationMark: 'mark-2' })],
])('does not cache an introspection %s', ([, result]) => {
  const subscriber = createSubscriberWithLease()
  subscriber.finishIntrospection(beginNewIntrospection(subscriber, 'a', 10), result, 11)
  expect(getSource(subscriber, 'a', 12)).toBe('new')
})

test('does not cache an introspection that arrives after the lease has expired', () => {
  const subscriber = createSubscriberWithLease()
  const slowIntrospection = beginNewIntrospection(subscriber, 'a', 10)
  const [renewal] = subscriber.tick(LEASE_MS - 1)
  subscriber.finishIntrospection(slowIntrospection, createIntrospection(), LEASE_MS)
  if (renewal?.do === 'acknowledge') subscriber.onAcknowledged(renewal, 7, LEASE_MS + 1)
  expect(getSource(subscriber, 'a', LEASE_MS + 2)).toBe('new')
})

const estimateCachedBytes = (introspection: ActiveIntrospection) => estimateEntryBytes('a', introspection)

test('caches introspections for cacheMs, and removes the least recently used beyond maxCachedBytes', () => {
  const maxCachedBytes = 2 * estimateCachedBytes(createIntrospection())
  const subscriber = createSubscriberWithLease({ cacheMs: 100, maxCachedBytes })
  for (const hash of ['a', 'b']) cacheResult(subscriber, hash, 10)
  expect(getSource(subscriber, 'a', 20)).toBe('cache')
  cacheResult(subscriber, 'c', 30)
  expect(subscriber.size).toBe(2)
  const sources = ['a', 'b', 'c'].map((hash) => getSource(subscriber, hash, 40))
  expect(sources).toEqual(['cache', 'new', 'cache'])
  expect([getSource(subscriber, 'a', 110), getSource(subscriber, 'c', 110)]).toEqual(['new', 'cache'])
})

test('removes several introspections if a larger one needs their memory', () => {
  const large = createIntrospection({ clientId: `https://${'a'.repeat(1_000)}.example/` })
  const subscriber = createSubscriberWithLease({ maxCachedBytes: estimateCachedBytes(large) })
  for (const hash of ['a', 'b']) cacheResult(subscriber, hash, 10)
  cacheResult(subscriber, 'c', 10, large)
  expect(['a', 'b', 'c'].map((hash) => getSource(subscriber, hash, 20))).toEqual(['new', 'new', 'cache'])
})
