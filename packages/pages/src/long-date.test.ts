import { expect, test } from 'vitest'
import { formatLongDate } from './long-date.ts'

test('a date is written as in the United States, by its day in UTC', () => {
  const us = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  const firstNight = Date.parse('2023-12-31T23:59:59.999Z')
  const dates = Array.from({ length: 800 }, (_, day) => new Date(firstNight + day * 24 * 3600 * 1000))
  expect(dates.map(formatLongDate)).toEqual(dates.map((date) => us.format(date)))
  expect(formatLongDate(new Date('2026-11-20'))).toBe('November 20, 2026')
})

test('rejects a text that is not a date', () => {
  expect(() => formatLongDate(new Date('no day'))).toThrow(RangeError)
})
