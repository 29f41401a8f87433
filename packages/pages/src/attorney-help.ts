import { type Html, html } from './html.ts'

/** The Justice Department's own lists (EOIR: the Executive Office for Immigration Review, the immigration courts). */
export const OFFICIAL_LISTS = [
  {
    title: 'Free legal help, by immigration court',
    url: 'https://www.justice.gov/eoir/list-pro-bono-legal-service-providers',
    about: 'Attorneys and groups that give some of their time for free.',
  },
  {
    title: 'Recognized organizations and accredited representatives',
    url: 'https://www.justice.gov/eoir/recognition-accreditation-roster-reports',
    about:
      'Non-profit groups, and people in them who are not attorneys but may give legal advice on immigration.',
  },
] as const

/** What to have ready for a talk with an attorney. */
export const PREPARE_FOR_ATTORNEY = [
  'Every letter from USCIS, ICE or an immigration court, with its date.',
  'Copies of the forms that were filed, and their receipts.',
  'Passports, visas and entry records, such as Form I-94.',
  'A list of dates: each entry, each exit, each address.',
  'Papers of every arrest and every court case, also old or closed ones.',
  'Your questions, in writing.',
] as const

/** The warm block: when to talk to an attorney, and where the official lists are. */
export function attorneyHelp(reasons: readonly string[]): Html {
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">When to talk to an attorney</h2>
<p>Do not rely on this page alone. Get legal advice first in these cases:</p>
<ul>
${reasons.map((reason) => html`<li>${reason}</li>\n`)}</ul>
${officialLists()}
</section>`
}

/** The two official lists, and who may not give advice. */
export function officialLists(): Html {
  return html`<p>Two lists of the U.S. Department of Justice help you find somebody you can trust:</p>
<ul>
${OFFICIAL_LISTS.map(({ title, url, about }) => html`<li><a href="${url}">${title}</a>. ${about}</li>\n`)}</ul>
<p>A notary, “notario” or consultant may not give you legal advice on immigration, unless that person is also an attorney or accredited.</p>`
}
