import { ALL_HELP, ATTORNEY_LISTS, type Help, numberInWords, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'

/** What to prepare before talking to an attorney. */
export const PREPARE_FOR_ATTORNEY = [
  'Every letter from USCIS, ICE or an immigration court, with its date.',
  'Copies of the forms that were filed, and their receipts.',
  'Passports, visas and entry records, such as Form I-94.',
  'A list of dates: each entry, each exit, each address.',
  'Papers of every arrest and every court case, also old or closed ones.',
  'Your questions, in writing.',
] as const

/** When a person who wrote to us can expect an answer, and where to find help that cannot wait for it. */
export const REPLY: { expected: string; ifYouCannotWait: string; findHelp: readonly Help[] } = {
  expected: `A person reads every message. We answer by e-mail, usually within ${numberInWords(RULES.replyWorkingDays)} working days, and urgent messages first. We cannot give legal advice.`,
  ifYouCannotWait:
    'Do not wait for our answer if somebody is in danger or detained, or if a hearing or a deadline is near. Do not miss a hearing. Get help now:',
  findHelp: ALL_HELP,
}

/** Renders `REPLY` as the last part of a page. */
export const replyHelp = (): Html => html`<p>${REPLY.expected}</p>
<h2>If you cannot wait</h2>
<p>${REPLY.ifYouCannotWait}</p>
<ul>
${REPLY.findHelp.map((help) => html`<li>${helpLink(help)}${help.phone !== undefined && html`: <a href="${`tel:${help.phone}`}">${help.phone}</a>`}</li>\n`)}</ul>`

const helpLink = ({ title, url }: Help) => (url === undefined ? title : html`<a href="${url}">${title}</a>`)

/** Renders the highlighted block with the cases in which to talk to an attorney, and the official lists. */
export function attorneyHelp(reasons: readonly string[]): Html {
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">When to talk to an attorney</h2>
<p>Do not rely on this page alone. Get legal advice first in these cases:</p>
<ul>
${reasons.map((reason) => html`<li>${reason}</li>\n`)}</ul>
${officialLists()}
</section>`
}

/** Renders the two official lists, and who may not give legal advice. */
export function officialLists(): Html {
  return html`<p>Two lists of the U.S. Department of Justice help you find somebody you can trust:</p>
<ul>
${ATTORNEY_LISTS.map(({ title, url, about }) => html`<li><a href="${url}">${title}</a>. ${about}</li>\n`)}</ul>
<p>A notary, “notario” or consultant may not give you legal advice on immigration, unless that person is also an attorney or accredited.</p>`
}
