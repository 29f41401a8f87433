import { type Html, html } from './html.ts'

const US_ENGLISH = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' })

/** @param day `YYYY-MM-DD`, printed as in "November 20, 2026". */
export const calendarDay = (day: string): Html =>
  html`<time datetime="${day}">${US_ENGLISH.format(new Date(day))}</time>`
