import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CachingHeaders, computeDocumentLifetimeMs } from './document-lifetime.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const now = new Date('2026-11-23T12:00:00Z')
const formatTimeAfterNow = (ms: number) => new Date(now.getTime() + ms).toUTCString()

// The default is an hour, the minimum is five minutes, and the maximum is a day. An unreadable lifetime gives the minimum.
test.for<{ when: string; headers: CachingHeaders; lifetimeMs: number }>([
  { when: 'no header states a lifetime', headers: {}, lifetimeMs: HOUR_MS },
  { when: 'only the age is stated', headers: { age: '600' }, lifetimeMs: HOUR_MS },
  { when: 'no directive states a lifetime', headers: { 'cache-control': 'public' }, lifetimeMs: HOUR_MS },
  { when: 'max-age is stated', headers: { 'cache-control': 'max-age=1200' }, lifetimeMs: 20 * MINUTE_MS },
  {
    when: 'max-age is in capitals and quotes',
    headers: { 'cache-control': 'Public, MAX-AGE="1200"' },
    lifetimeMs: 20 * MINUTE_MS,
  },
  {
    when: 'part of max-age has passed',
    headers: { 'cache-control': 'max-age=1200', age: '300' },
    lifetimeMs: 15 * MINUTE_MS,
  },
  {
    when: 'max-age has passed',
    headers: { 'cache-control': 'max-age=1200', age: '1201' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'the age is unreadable',
    headers: { 'cache-control': 'max-age=1200', age: '-1' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'the age is unreadable and max-age is longer than the maximum',
    headers: { 'cache-control': 'max-age=172800', age: '-1' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'max-age and the age are too large for a finite number',
    headers: { 'cache-control': `max-age=${'9'.repeat(400)}`, age: '9'.repeat(400) },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 's-maxage is stated beside max-age',
    headers: { 'cache-control': 'max-age=1200, s-maxage=2400' },
    lifetimeMs: 40 * MINUTE_MS,
  },
  {
    when: 'max-age is stated beside Expires',
    headers: { 'cache-control': 'max-age=1200', expires: formatTimeAfterNow(DAY_MS) },
    lifetimeMs: 20 * MINUTE_MS,
  },
  {
    when: 'max-age is stated twice',
    headers: { 'cache-control': 'max-age=7200, max-age=1200' },
    lifetimeMs: 20 * MINUTE_MS,
  },
  { when: 'max-age is zero', headers: { 'cache-control': 'max-age=0' }, lifetimeMs: 5 * MINUTE_MS },
  {
    when: 'max-age is just below the minimum',
    headers: { 'cache-control': 'max-age=299' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'max-age is just above the minimum',
    headers: { 'cache-control': 'max-age=301' },
    lifetimeMs: 301_000,
  },
  {
    when: 'max-age is just below the maximum',
    headers: { 'cache-control': 'max-age=86399' },
    lifetimeMs: DAY_MS - 1000,
  },
  {
    when: 'max-age is too large for a number',
    headers: { 'cache-control': 'max-age=99999999999999999999' },
    lifetimeMs: DAY_MS,
  },
  { when: 'max-age is a word', headers: { 'cache-control': 'max-age=forever' }, lifetimeMs: 5 * MINUTE_MS },
  { when: 'max-age is negative', headers: { 'cache-control': 'max-age=-1' }, lifetimeMs: 5 * MINUTE_MS },
  { when: 'max-age has no value', headers: { 'cache-control': 'max-age' }, lifetimeMs: 5 * MINUTE_MS },
  {
    when: 'no-store forbids caching',
    headers: { 'cache-control': 'max-age=7200, no-store' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'no-cache forbids use without revalidation',
    headers: { 'cache-control': 'no-cache' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'private forbids shared caches',
    headers: { 'cache-control': 'private="x", max-age=7200' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'Expires is stated without Date',
    headers: { expires: formatTimeAfterNow(2 * HOUR_MS) },
    lifetimeMs: 2 * HOUR_MS,
  },
  {
    when: 'Expires is stated with Date',
    headers: { expires: formatTimeAfterNow(2 * HOUR_MS), date: formatTimeAfterNow(HOUR_MS) },
    lifetimeMs: HOUR_MS,
  },
  {
    when: 'part of the time until Expires has passed',
    headers: { expires: formatTimeAfterNow(2 * HOUR_MS), age: '3600' },
    lifetimeMs: HOUR_MS,
  },
  { when: 'Expires is unreadable', headers: { expires: '0' }, lifetimeMs: 5 * MINUTE_MS },
  {
    when: 'Expires is in the past',
    headers: { expires: formatTimeAfterNow(-DAY_MS) },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'Date is unreadable',
    headers: { expires: formatTimeAfterNow(2 * HOUR_MS), date: 'yesterday' },
    lifetimeMs: 5 * MINUTE_MS,
  },
  {
    when: 'Expires is later than the maximum',
    headers: { expires: formatTimeAfterNow(30 * DAY_MS) },
    lifetimeMs: DAY_MS,
  },
])('the lifetime is $lifetimeMs ms when $when', ({ headers, lifetimeMs }) => {
  expect(computeDocumentLifetimeMs(headers, now)).toBe(lifetimeMs)
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

test('the lifetime is between five minutes and a day for any headers', () => {
  fc.assert(
    fc.property(headersArbitrary, (headers) => {
      const lifetimeMs = computeDocumentLifetimeMs(headers, now)
      expect(lifetimeMs).toBeGreaterThanOrEqual(5 * MINUTE_MS)
      expect(lifetimeMs).toBeLessThanOrEqual(DAY_MS)
    }),
  )
})

test('the lifetime is not longer for a higher age', () => {
  fc.assert(
    fc.property(headersArbitrary, fc.nat(100_000), fc.nat(100_000), (headers, age, increment) => {
      const lifetimeMs = computeDocumentLifetimeMs({ ...headers, age: String(age) }, now)
      const laterLifetimeMs = computeDocumentLifetimeMs({ ...headers, age: String(age + increment) }, now)
      expect(laterLifetimeMs).toBeLessThanOrEqual(lifetimeMs)
    }),
  )
})
