import { type Html, html } from './html.ts'

/** Names of forms and visas, such as `Form I-765`, `N-400`, `G-1055`, `I-129F` and `H-1B`; `A-Number`, and `10-year`. */
const UNBROKEN = /\b((?:Forms? )?[A-Z]{1,4}-\d{1,4}[A-Z]?\b|A-Numbers?\b|\d{1,2}-(?:year|month|day)\b)/

/**
 * Keeps each name of a form, and words like it, on one line. The letters stay as they are, unlike with non-breaking hyphens, which a search in
 * the page and a copied text would not match.
 */
export const keepForms = (text: string): Html =>
  html`${text.split(UNBROKEN).map((part, index) => (index % 2 === 1 ? html`<span class="form-name">${part}</span>` : part))}`
