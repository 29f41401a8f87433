import { type Html, html } from './html.ts'
import { longDate } from './long-date.ts'

/** @param day `YYYY-MM-DD`, printed as in "November 20, 2026". */
export const calendarDay = (day: string): Html =>
  html`<time datetime="${day}">${longDate(new Date(day))}</time>`
