import { ALL_HELP, ATTORNEY_LISTS, type Help, numberInWords, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'

/** The things that a person should prepare before talking to an attorney. */
export const PREPARE_FOR_ATTORNEY = [
  'Every letter from USCIS, ICE or an immigration court, with its date.',
  'Copies of the forms that were filed, and their receipts.',
  'Passports, visas and entry records, such as Form I-94.',
  'A list of dates: each entry, each exit, each address.',
  'Papers about every arrest and every court case, including old or closed ones.',
  'Your questions, in writing.',
] as const

/** The guidance for a person who wrote to us: when to expect an answer, and where to find urgent help. */
export const REPLY_GUIDANCE: { expected: string; ifYouCannotWait: string; findHelp: readonly Help[] } = {
  expected: `A person reads every message. We answer by e-mail, usually within ${numberInWords(RULES.replyWorkingDays)} working days, and urgent messages first. We cannot give legal advice.`,
  ifYouCannotWait:
    'Do not wait for our answer if somebody is in danger or detained, or if a hearing or a deadline is near. Do not miss a hearing. Get help now:',
  findHelp: ALL_HELP,
}

/** Renders `REPLY_GUIDANCE` as the last part of a page. */
export const renderReplyHelp = (): Html => html`<p>${keepTogether(REPLY_GUIDANCE.expected)}</p>
<h2>If you cannot wait</h2>
<p>${REPLY_GUIDANCE.ifYouCannotWait}</p>
<ul>
${REPLY_GUIDANCE.findHelp.map((help) => html`<li>${renderHelpLink(help)}${help.phone !== undefined && html`: <a href="${`tel:${help.phone}`}">${help.phone}</a>`}</li>\n`)}</ul>`

const renderHelpLink = ({ title, url }: Help) =>
  url === undefined ? title : html`<a href="${url}">${title}</a>`

/** Renders the highlighted section that says when to talk to an attorney, with links to the official lists. */
export function renderAttorneyHelp(reasons: readonly string[]): Html {
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">When to talk to an attorney</h2>
<p>Do not rely on this page alone. Get legal advice first in these cases:</p>
<ul>
${reasons.map((reason) => html`<li>${reason}</li>\n`)}</ul>
${renderOfficialLists()}
</section>`
}

/** Renders links to the two official lists, and says who may not give legal advice. */
export function renderOfficialLists(): Html {
  return html`<p>Two lists of the U.S. Department of Justice help you find somebody you can trust:</p>
<ul>
${ATTORNEY_LISTS.map(({ title, url, about }) => html`<li><a href="${url}">${title}</a>. ${about}</li>\n`)}</ul>
<p>A notary, “notario” or consultant may not give you legal advice on immigration, unless that person is also an attorney or an accredited representative.</p>`
}
