import { expect, test } from 'vitest'
import { findFreshnessPeriod, isStale } from './freshness.ts'

test('findFreshnessPeriod returns the period in which no source becomes stale', () => {
  const sources = [
    { kind: 'contact', checked: '2026-01-01' },
    { kind: 'statute', checked: '2026-02-01' },
  ] as const
  const readStaleFlags = (now: number) => sources.map((source) => isStale(source, new Date(now)))
  const { after, until } = findFreshnessPeriod(sources, new Date('2026-06-30T00:00:00Z'))
  // The contact became stale after 100 days, on 11 April 2026. The statute will after 400 days.
  expect([after, until].map((time) => new Date(time).toISOString().slice(0, 10))).toEqual([
    '2026-04-11',
    '2027-03-08',
  ])
  expect([after, after + 1, until, until + 1].map(readStaleFlags)).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
})
