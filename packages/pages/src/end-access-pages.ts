import { capitalise, durationIn, RULES } from '@plainpath/domain'
import { referToApp } from './app-names.ts'
import { type AgentOnPage, getClosedVerificationTitle, renderAgentLines } from './claim-pages.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { renderCalendarDay } from './long-date.ts'

const EMAIL = keepTogether('e-mail')
/** Says that ending access does not affect earlier messages. */
const EARLIER_MESSAGES =
  'A message that it sent before still goes to our staff, and the answer comes to you by e-mail. To withdraw a message that has not gone to our staff yet, use the link in its receipt.'

/** An agent or an app that can send messages for a person. */
export interface GrantedAccess {
  /** The secret of the link that ends this access; undefined if only the link in another mail, or the button for all, can end it. */
  readonly secret: string | undefined
  readonly agent: AgentOnPage
  /** The first day of the access, as `YYYY-MM-DD`. */
  readonly since: string
  /** The day on which the access ends, as `YYYY-MM-DD`. */
  readonly until: string
}

const getAgentKind = ({ appHost }: AgentOnPage) => (appHost === undefined ? 'agent' : 'app')

/**
 * Renders the page behind an end-access link, for a person for whom only one agent or app has access now. Opening it changes
 * nothing.
 */
export const renderRevokeAccessPage = (page: GrantedAccess & { secret: string }): Html =>
  html`<h1>Do you want to end this ${getAgentKind(page.agent)}’s access?</h1>
<p>Since ${renderCalendarDay(page.since)}, an ${getAgentKind(page.agent) === 'app' ? 'app' : 'AI agent'} has been able to send our staff messages for you. Its access ends on ${renderCalendarDay(page.until)}, unless you end it sooner. We reply to you by ${EMAIL}.</p>
${renderAgentLines(page.agent)}
<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> the ${getAgentKind(page.agent)} can no longer send us messages for you. We erase your address from its registration, and confirm that by ${EMAIL}. ${keepTogether(EARLIER_MESSAGES)} <a href="/privacy">What we keep</a></p>
<button type="submit">End it now</button>
</form>`

/** Formats the heading for one of several agents or apps with access. It never contains an unverified name. */
const formatAccessHeading = ({ verifiedDomain, appHost }: AgentOnPage): string => {
  if (appHost !== undefined) return capitalise(referToApp(appHost, { inMail: false }))
  return verifiedDomain === undefined ? 'An AI agent' : `An AI agent at ${verifiedDomain}`
}

/**
 * Renders the page behind an end-access link, for a person who has given access to several agents or apps. Lists all of them.
 * Opening it changes nothing.
 *
 * @param page.secret the link's secret, for the button that ends all access
 */
export const renderGrantedAccessPage = (page: { secret: string; accesses: readonly GrantedAccess[] }): Html =>
  html`<h1>Who can send us messages for you</h1>
<p>You have given access to these ${page.accesses.length}. We reply to you by ${EMAIL}, whichever of them sends a message.</p>
<p><strong>What happens when you end one:</strong> it can no longer send us messages for you. We erase your address from its registration, and confirm that by ${EMAIL}. <a href="/privacy">What we keep</a></p>
${page.accesses.map(
  ({ secret, agent, since, until }, index) => html`<h2 id="access-${index}">${formatAccessHeading(agent)}</h2>
${renderAgentLines(agent)}
<p class="facts">Since ${renderCalendarDay(since)}, until ${renderCalendarDay(until)}.</p>
${
  secret === undefined
    ? html`<p>To end this one alone, use the link in the ${EMAIL} about it.</p>`
    : html`<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${secret}">
<button class="second" type="submit" aria-describedby="access-${index}">End this one</button>
</form>`
}
`,
)}<h2>All of them</h2>
<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> none of these can send us messages for you any more.</p>
<button type="submit" name="all" value="yes">End all</button>
</form>
<p>${keepTogether(EARLIER_MESSAGES)}</p>`

/**
 * Renders the page after the access of one agent or app, or of all of them, has ended.
 *
 * @param options.remainingSecret the secret of a link that ends the access of another agent or app; undefined if none has access
 */
export const renderRevokedAccessPage = ({
  hasEndedAll = false,
  remainingSecret,
}: {
  hasEndedAll?: boolean
  remainingSecret?: string | undefined
} = {}): Html =>
  html`<h1>The access has ended</h1>
<p>${hasEndedAll ? 'Nobody can send us messages for you any more' : 'It can no longer send us messages for you'}, and we have erased your address from ${hasEndedAll ? 'their registrations' : 'its registration'}. We will send you one ${EMAIL} ${hasEndedAll && 'about each '}that confirms this.</p>
<p>${keepTogether(EARLIER_MESSAGES)}</p>
${
  remainingSecret !== undefined &&
  html`<form class="form" action="/claim" method="get">
<input name="end" type="hidden" value="${remainingSecret}">
<p>You have given access to others, too.</p>
<button class="second" type="submit">See who still has access</button>
</form>`
}
<p><a href="/">To the guides</a></p>`

export const ALREADY_ENDED_TITLE = 'This has already ended'

/**
 * Renders the page behind an end-access link whose access has already ended.
 *
 * @param options.secretToRepeat the link's secret, if the person ended the access just now. With it, the page has a button that
 *   repeats the end, for a person who got an error
 */
export const renderAlreadyRevokedPage = ({ secretToRepeat }: { secretToRepeat?: string } = {}): Html =>
  html`<h1>${ALREADY_ENDED_TITLE}</h1>
<p>This agent or app no longer has access to send us messages for you. ${secretToRepeat === undefined && 'You do not need to do anything.'}</p>
${
  secretToRepeat !== undefined &&
  html`<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${secretToRepeat}">
<p>Did you get an error message when you ended it? Then end it again, to make sure that it has ended everywhere.</p>
<button class="second" type="submit" name="all" value="yes">End it again</button>
</form>`
}
<p>If you gave it access again later, use the link in the newest ${EMAIL} about it.</p>
<p><a href="/">To the guides</a></p>`

/** Renders the page behind an unknown end-access link. */
export const renderBrokenRevokeLinkPage = (): Html => html`<h1>${getClosedVerificationTitle('unknown')}</h1>
<p>A part of it may be missing. Or the access that it is about ended more than ${durationIn('day', RULES.endedVerificationKeptMs)} ago. Copy the whole link from the ${EMAIL}.</p>
<p>If you think that something still has access, use the link in the newest ${EMAIL} about it.</p>
<p><a href="/">To the guides</a></p>`
