import { type Html, html } from './html.ts'

/**
 * Matches words that a browser must not break at a hyphen: form and visa names (`Form I-765`, `I-129F`, `H-1B`), `A-Number`,
 * `10-year`, `e-mail`, phone numbers, and dates such as `2026-03-01`. Its one group makes `split` return the matches at odd
 * indexes.
 */
export const UNBREAKABLE_WORDS =
  /\b((?:Forms? )?[A-Z]{1,4}-\d{1,4}[A-Z]?\b|A-Numbers?\b|\d{1,2}-(?:year|month|day)\b|[Ee]-mails?\b|1-\d{3}-\d{3}-\d{4}\b|\d{4}-\d\d-\d\d\b)/

/**
 * Keeps each match of `UNBREAKABLE_WORDS` on one line. Non-breaking hyphens would do this too, but a search in the page would
 * miss such words, and copied text would contain the hyphens.
 */
export const keepTogether = (text: string): Html =>
  html`${text.split(UNBREAKABLE_WORDS).map((part, index) => (index % 2 === 1 ? html`<span class="form-name">${part}</span>` : part))}`
