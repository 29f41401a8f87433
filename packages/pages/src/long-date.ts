import { type Html, html } from './html.ts'

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/**
 * Formats a date in UTC, such as "November 20, 2026". `Intl` can do the same, but loads 15 MB of tables into each process.
 *
 * @throws {RangeError} for an invalid date
 */
export function formatLongDate(date: Date): string {
  const [year = 0, month = 0, day = 0] = date.toISOString().slice(0, 10).split('-').map(Number)
  return `${MONTHS[month - 1]} ${day}, ${year}`
}

/**
 * Renders a day, such as "November 20, 2026".
 *
 * @param day `YYYY-MM-DD`
 */
export const renderCalendarDay = (day: string): Html =>
  html`<time datetime="${day}">${formatLongDate(new Date(day))}</time>`
