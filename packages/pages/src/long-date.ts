import { type Html, html } from './html.ts'

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
]

/**
 * The day in UTC, as in "November 20, 2026". `Intl` writes the same, and reads 15 MB of tables into each process for it.
 *
 * @throws {RangeError} for an invalid date
 */
export function longDate(date: Date): string {
  const [year = 0, month = 0, day = 0] = date.toISOString().slice(0, 10).split('-').map(Number)
  return `${MONTHS[month - 1]} ${day}, ${year}`
}

/** @param day `YYYY-MM-DD`, printed as in "November 20, 2026". */
export const calendarDay = (day: string): Html =>
  html`<time datetime="${day}">${longDate(new Date(day))}</time>`
