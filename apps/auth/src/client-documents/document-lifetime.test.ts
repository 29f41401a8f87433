import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CachingHeaders, computeDocumentLifetimeMs } from './document-lifetime.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = new Date('2026-11-23T12:00:00Z')
const formatTimeAfterNow = (ms: number) => new Date(now.getTime() + ms).toUTCString()

test.for<{ when: string; headers: CachingHeaders; lifetime: number }>([
  { when: 'no header states a lifetime', headers: {}, lifetime: HOUR },
  { when: 'only the age is stated', headers: { age: '600' }, lifetime: HOUR },
  { when: 'no directive states a lifetime', headers: { 'cache-control': 'public' }, lifetime: HOUR },
  { when: 'max-age is stated', headers: { 'cache-control': 'max-age=1200' }, lifetime: 20 * MINUTE },
  { when: 'max-age is in capitals and quotes', headers: { 'cache-control': 'Public, MAX-AGE="1200"' }, lifetime: 20 * MINUTE },
  { when: 'part of max-age has passed', headers: { 'cache-control': 'max-age=1200', age: '300' }, lifetime: 15 * MINUTE },
  { when: 'max-age has passed', headers: { 'cache-control': 'max-age=1200', age: '1201' }, lifetime: 5 * MINUTE },
  { when: 'the age is unreadable', headers: { 'cache-control': 'max-age=1200', age: '-1' }, lifetime: 5 * MINUTE },
  { when: 's-maxage is stated beside max-age', headers: { 'cache-control': 'max-age=1200, s-maxage=2400' }, lifetime: 40 * MINUTE },
  { when: 'max-age is stated beside Expires', headers: { 'cache-control': 'max-age=1200', expires: formatTimeAfterNow(DAY) }, lifetime: 20 * MINUTE },
  { when: 'max-age is stated twice', headers: { 'cache-control': 'max-age=7200, max-age=1200' }, lifetime: 20 * MINUTE },
  { when: 'max-age is zero', headers: { 'cache-control': 'max-age=0' }, lifetime: 5 * MINUTE },
  { when: 'max-age is just below the minimum', headers: { 'cache-control': 'max-age=299' }, lifetime: 5 * MINUTE },
  { when: 'max-age is just above the minimum', headers: { 'cache-control': 'max-age=301' }, lifetime: 301_000 },
  { when: 'max-age is just below the maximum', headers: { 'cache-control': 'max-age=86399' }, lifetime: DAY - 1000 },
  { when: 'max-age is too large for a number', headers: { 'cache-control': 'max-age=99999999999999999999' }, lifetime: DAY },
  { when: 'max-age is a word', headers: { 'cache-control': 'max-age=forever' }, lifetime: 5 * MINUTE },
  { when: 'max-age is negative', headers: { 'cache-control': 'max-age=-1' }, lifetime: 5 * MINUTE },
  { when: 'max-age has no value', headers: { 'cache-control': 'max-age' }, lifetime: 5 * MINUTE },
  { when: 'no-store forbids caching', headers: { 'cache-control': 'max-age=7200, no-store' }, lifetime: 5 * MINUTE },
  { when: 'no-cache forbids use without revalidation', headers: { 'cache-control': 'no-cache' }, lifetime: 5 * MINUTE },
  { when: 'private forbids shared caches', headers: { 'cache-control': 'private="x", max-age=7200' }, lifetime: 5 * MINUTE },
  { when: 'Expires is stated without Date', headers: { expires: formatTimeAfterNow(2 * HOUR) }, lifetime: 2 * HOUR },
  { when: 'Expires is stated with Date', headers: { expires: formatTimeAfterNow(2 * HOUR), date: formatTimeAfterNow(HOUR) }, lifetime: HOUR },
  { when: 'part of the time until Expires has passed', headers: { expires: formatTimeAfterNow(2 * HOUR), age: '3600' }, lifetime: HOUR },
  { when: 'Expires is unreadable', headers: { expires: '0' }, lifetime: 5 * MINUTE },
  { when: 'Expires is in the past', headers: { expires: formatTimeAfterNow(-DAY) }, lifetime: 5 * MINUTE },
  { when: 'Date is unreadable', headers: { expires: formatTimeAfterNow(2 * HOUR), date: 'yesterday' }, lifetime: 5 * MINUTE },
  { when: 'Expires is later than the maximum', headers: { expires: formatTimeAfterNow(30 * DAY) }, lifetime: DAY },
])('computes a lifetime of $lifetime ms when $when', ({ headers, lifetime }) => {
  expect(computeDocumentLifetimeMs(headers, now)).toBe(lifetime)
})

const numberLikeText = fc.oneof(fc.nat().map(String), fc.bigInt().map(String), fc.string())
const directive = fc.oneof(
  fc.string(),
  fc
    .tuple(fc.constantFrom('max-age', 's-maxage', 'MAX-AGE ', 'no-store', 'public'), numberLikeText)
    .map((pair) => pair.join('=')),
)
const date = fc.oneof(
  fc.string(),
  fc.date().map((value) => (Number.isNaN(value.getTime()) ? 'x' : value.toUTCString())),
)
const headersArbitrary = fc.record(
  {
    'cache-control': fc.array(directive).map((directives) => directives.join(',')),
    expires: date,
    date,
    age: numberLikeText,
  },
  { requiredKeys: [] },
)

test('computes between five minutes and a day for any headers', () => {
  fc.assert(
    fc.property(headersArbitrary, (headers) => {
      const lifetime = computeDocumentLifetimeMs(headers, now)
      expect(lifetime).toBeGreaterThanOrEqual(5 * MINUTE)
      expect(lifetime).toBeLessThanOrEqual(DAY)
    }),
  )
})

test('does not compute a longer lifetime for a higher age', () => {
  fc.assert(
    fc.property(headersArbitrary, fc.nat(100_000), fc.nat(100_000), (headers, age, increment) => {
      const lifetime = computeDocumentLifetimeMs({ ...headers, age: String(age) }, now)
      const laterLifetime = computeDocumentLifetimeMs({ ...headers, age: String(age + increment) }, now)
      expect(laterLifetime).toBeLessThanOrEqual(lifetime)
    }),
  )
})
