import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CachingHeaders, computeDocumentLifetimeMs } from './document-lifetime.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = new Date('2026-11-23T12:00:00Z')
const formatTimeAfterNow = (ms: number) => new Date(now.getTime() + ms).toUTCString()

test.for([
  { headers: {}, lifetime: HOUR },
  { headers: { age: '600' }, lifetime: HOUR },
  { headers: { 'cache-control': 'public' }, lifetime: HOUR },
  { headers: { 'cache-control': 'max-age=1200' }, lifetime: 20 * MINUTE },
  { headers: { 'cache-control': 'Public, MAX-AGE="1200"' }, lifetime: 20 * MINUTE },
  { headers: { 'cache-control': 'max-age=1200', age: '300' }, lifetime: 15 * MINUTE },
  { headers: { 'cache-control': 'max-age=1200', age: '1201' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=1200', age: '-1' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=1200, s-maxage=2400' }, lifetime: 40 * MINUTE },
  { headers: { 'cache-control': 'max-age=1200', expires: formatTimeAfterNow(DAY) }, lifetime: 20 * MINUTE },
  { headers: { 'cache-control': 'max-age=7200, max-age=1200' }, lifetime: 20 * MINUTE },
  { headers: { 'cache-control': 'max-age=0' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=299' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=301' }, lifetime: 301_000 },
  { headers: { 'cache-control': 'max-age=86399' }, lifetime: DAY - 1000 },
  { headers: { 'cache-control': 'max-age=99999999999999999999' }, lifetime: DAY },
  { headers: { 'cache-control': 'max-age=forever' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=-1' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'max-age=7200, no-store' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'no-cache' }, lifetime: 5 * MINUTE },
  { headers: { 'cache-control': 'private="x", max-age=7200' }, lifetime: 5 * MINUTE },
  { headers: { expires: formatTimeAfterNow(2 * HOUR) }, lifetime: 2 * HOUR },
  { headers: { expires: formatTimeAfterNow(2 * HOUR), date: formatTimeAfterNow(HOUR) }, lifetime: HOUR },
  { headers: { expires: formatTimeAfterNow(2 * HOUR), age: '3600' }, lifetime: HOUR },
  { headers: { expires: '0' }, lifetime: 5 * MINUTE },
  { headers: { expires: formatTimeAfterNow(-DAY) }, lifetime: 5 * MINUTE },
  { headers: { expires: formatTimeAfterNow(2 * HOUR), date: 'yesterday' }, lifetime: 5 * MINUTE },
  { headers: { expires: formatTimeAfterNow(30 * DAY) }, lifetime: DAY },
] satisfies { headers: CachingHeaders; lifetime: number }[])(
  'computes $lifetime ms for the headers $headers',
  ({ headers, lifetime }) => {
    expect(computeDocumentLifetimeMs(headers, now)).toBe(lifetime)
  },
)

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
