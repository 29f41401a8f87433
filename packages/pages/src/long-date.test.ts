import { expect, test } from 'vitest'
import { longDate } from './long-date.ts'

test('a date is written as in the United States, by its day in UTC', () => {
  const us = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  const firstNight = Date.parse('2023-12-31T23:59:59.999Z')
  const dates = Array.from({ length: 800 }, (_, day) => new Date(firstNight + day * 24 * 3600 * 1000))
  expect(dates.map(longDate)).toEqual(dates.map((date) => us.format(date)))
  expect(longDate(new Date('2026-11-20'))).toBe('November 20, 2026')
})

test('what is no date is refused', () => {
  expect(() => longDate(new Date('no day'))).toThrow(RangeError)
})
