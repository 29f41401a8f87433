import { expect, test } from 'vitest'
import { formatLongDate } from './long-date.ts'

test('formatLongDate formats the UTC day of a date as Intl does for the United States', () => {
  const usFormat = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  // The last millisecond of each of 800 days, with a leap day (2024) and three ends of a year.
  const firstMs = Date.parse('2023-12-31T23:59:59.999Z')
  const dates = Array.from({ length: 800 }, (_, day) => new Date(firstMs + day * 24 * 3600 * 1000))
  expect(dates.map(formatLongDate)).toEqual(dates.map((date) => usFormat.format(date)))
  expect(formatLongDate(new Date('2026-11-20'))).toBe('November 20, 2026')
})

test('formatLongDate throws RangeError for an invalid date', () => {
  expect(() => formatLongDate(new Date('no day'))).toThrow(RangeError)
})
