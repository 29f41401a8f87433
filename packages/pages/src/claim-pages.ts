import { capitalised, durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { DOMAIN_CHECKED, DOMAIN_MEANING, shownName } from './agent-names.ts'
import { referToApp } from './app-names.ts'
import { type Html, html } from './html.ts'
import { calendarDay } from './long-date.ts'

const CODES = numberInWords(RULES.claimCodes)
const CODE_LASTS = durationIn('minute', RULES.claimCodeMs)
/** What a *no* does besides refusing the agent. */
const NO_MORE_MAILS = `For ${durationIn('day', RULES.claimBlockMs)} after you say no, we send you no more e-mails like the one that brought you here. An agent that already has your permission can still ask you again.`

/** What a person needs to know of an agent that says it acts for them. */
export interface AgentOnPage {
  /** The agent's own word; nobody checked it. */
  readonly name?: string | undefined
  /** The host that the agent has proven to control. The agent is then named by it alone. */
  readonly verifiedDomain?: string | undefined
  /** For a connection, where its app is: see `appHostOf`. */
  readonly appHost?: string | undefined
  /** `YYYY-MM-DD`. */
  readonly registered: string
}

export interface ClaimQuestionPage {
  /** Of the mailed link; it is the form's only way to say which attempt it is about. */
  readonly secret: string
  readonly matchPhrase: string
  readonly agent: AgentOnPage
  /** How many codes the page can still show. */
  readonly codesLeft: number
  /** Whether it has shown one. */
  readonly shown: boolean
}

/** The body of `/claim` behind a mailed link: asks whether this is the person's agent. Opening it changes nothing. */
export function claimQuestionPage(page: ClaimQuestionPage): Html {
  return html`<h1>Does this AI agent act for you?</h1>
<p>An AI agent says that it acts for you. It must show you these two words:</p>
<pre class="large"><code id="match-phrase">${page.matchPhrase}</code></pre>
<p>Different words, or not yours? Close this page. Nothing happens.</p>
${agentLines(page.agent)}
${page.shown && html`<p class="notice">We have shown you a code before. A new code replaces it.</p>`}
${page.codesLeft > 0 ? yesForm(page, CODE_NEXT) : html`<p class="notice">We have shown you ${CODES} codes and cannot show more. The last code works for ${CODE_LASTS} after you saw it. After that, ask your agent to start again.</p>`}
<h2>If this is not your agent, or the words differ</h2>
<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> the agent gets no access. ${NO_MORE_MAILS}</p>
<button type="submit" name="answer" value="no">No, this is not my agent</button>
</form>`
}

const CODE_NEXT = html`we show you a code with ${numberInWords(RULES.claimCodeDigits)} digits. Give it to your agent, and to nobody else. The agent can then send our staff messages for you for ${durationIn('day', RULES.claimMs)}, and we reply to you by e-mail. You can end its access at any time. <a href="/privacy">What we keep</a>`
const NEW_CODE_NEXT = html`we show you a new code. The old one then stops working. We show at most ${CODES}.`

/** @param next what happens when the button is pressed */
const yesForm = (
  { secret, codesLeft, shown }: ClaimQuestionPage,
  next: Html,
) => html`<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${secret}">
<p><strong>What happens next:</strong> ${next}</p>
<button type="submit" name="answer" value="yes">${shown ? 'Show a new code' : 'Yes, my agent shows the same words: show my code'}</button>
${codesLeft === 1 && html`<p class="facts">This is the last code that we can show.</p>`}
</form>`

function agentLines({ name, verifiedDomain, appHost, registered }: AgentOnPage): Html {
  if (appHost !== undefined)
    return html`<p>It is <strong>${referToApp(appHost, { inMail: false })}</strong>.${name !== undefined && html` It calls itself <strong><bdi>“${shownName(name)}”</bdi></strong>. The app gave us that name. We did not check it.`}</p>`
  return verifiedDomain === undefined
    ? nameLines(name, registered)
    : html`<p>The agent is at <strong>${verifiedDomain}</strong> ${DOMAIN_CHECKED}. ${DOMAIN_MEANING}</p>
<p class="facts">It first contacted us on ${calendarDay(registered)}.</p>`
}

const nameLines = (name: string | undefined, registered: string) => html`${
  name === undefined
    ? html`<p>The agent gave us no name.</p>`
    : html`<p>The agent calls itself <strong><bdi>“${shownName(name)}”</bdi></strong>. That name is <strong>unverified</strong>: an agent can give itself any name.</p>`
}
<p class="facts">It registered with us on ${calendarDay(registered)}.</p>`

/** The body of `/claim` after *yes*. @param page.code six digits, shown here and never again */
export const claimCodePage = (page: Omit<ClaimQuestionPage, 'shown'> & { code: string }): Html =>
  html`<h1>Your code</h1>
<p>Give this code to the agent that shows you the words <strong class="form-name">${page.matchPhrase}</strong>:</p>
<pre class="large"><code id="code">${page.code.slice(0, 3)} ${page.code.slice(3)}</code></pre>
<p>The code works once, for ${CODE_LASTS}. We never ask you for it by <span class="form-name">e-mail</span> or phone. Give it to nobody but your agent.</p>
<p>When your agent has used the code, we send you an <span class="form-name">e-mail</span>. It has a link. Open it when you want to end the agent’s access.</p>
${
  page.codesLeft > 0 &&
  html`<h2>If the code no longer works</h2>
${yesForm({ ...page, shown: true }, NEW_CODE_NEXT)}`
}`

/** Why the page behind a mailed link shows no code. */
export type ClosedClaim =
  | 'unknown'
  | 'completed'
  | 'locked'
  | 'declined'
  | 'expired'
  | 'superseded'
  | 'failed'
  | 'no-codes-left'

const AGAIN = 'If you still want this, ask your agent to start again. We then send you a new e-mail.'

const CLOSED: Readonly<Record<ClosedClaim, { readonly title: string; readonly text: readonly string[] }>> = {
  unknown: {
    title: 'This link does not work',
    text: [
      `A part of it may be missing, or it is more than ${durationInWords('day', RULES.claimAttemptKeptMs)} old. Copy the whole link from the e-mail.`,
      AGAIN,
    ],
  },
  completed: {
    title: 'This is done',
    text: [
      'Your agent has used the code. You do not need to do anything.',
      'To end the agent’s access, open the link in the e-mail that we sent you when it used the code.',
    ],
  },
  locked: {
    title: 'Too many wrong codes',
    text: ['The agent sent us too many wrong codes. This link no longer works.', AGAIN],
  },
  declined: {
    title: 'You said no',
    text: [
      'The agent gets no access. If it could send us messages for you before, it no longer can.',
      NO_MORE_MAILS,
      'You do not need to do anything.',
    ],
  },
  expired: {
    title: 'This link has expired',
    text: [`The link in the e-mail worked for ${durationIn('hour', RULES.claimLinkMs)}.`, AGAIN],
  },
  superseded: {
    title: 'There is a newer e-mail',
    text: [
      'Your agent has started again, or has given up. If we sent you a newer e-mail, use the link in that one.',
    ],
  },
  failed: {
    title: 'This link does not work',
    text: ['Something went wrong when we sent the e-mail.', AGAIN],
  },
  'no-codes-left': {
    title: 'We cannot show more codes',
    text: [
      `We have shown you ${CODES} codes for this link. The last code works for ${CODE_LASTS} after you saw it.`,
      AGAIN,
    ],
  },
}

export const closedClaimTitle = (why: ClosedClaim): string => CLOSED[why].title

export const closedClaimPage = (why: ClosedClaim): Html => html`<h1>${CLOSED[why].title}</h1>
${CLOSED[why].text.map((line) => html`<p>${line}</p>\n`)}<p><a href="/">To the guides</a></p>`

/** What ending the access leaves as it is. */
const SENT_BEFORE =
  'A message that it sent before still goes to our staff, and the answer comes to you by e-mail. To withdraw a message that has not gone to our staff yet, use the link in its receipt.'

/** An agent or an app that can send messages for a person. */
export interface LentAccess {
  /** Of the link that ends it; undefined for one that only its own mail can end, or the button for all. */
  readonly secret: string | undefined
  readonly agent: AgentOnPage
  /** Since when it has access, `YYYY-MM-DD`, as `until`. */
  readonly since: string
  readonly until: string
}

const kindOf = ({ appHost }: AgentOnPage) => (appHost === undefined ? 'agent' : 'app')

/** The body of `/claim` behind the link that ends an agent's or an app's access, where it is the only one. Opening it changes nothing. */
export const endClaimPage = (page: LentAccess & { secret: string }): Html =>
  html`<h1>Do you want to end this ${kindOf(page.agent)}’s access?</h1>
<p>Since ${calendarDay(page.since)}, an ${kindOf(page.agent) === 'app' ? 'app' : 'AI agent'} has been able to send our staff messages for you. Its access ends on ${calendarDay(page.until)}, unless you end it sooner. We reply to you by e-mail.</p>
${agentLines(page.agent)}
<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> the ${kindOf(page.agent)} can no longer send us messages for you. We erase your address from its registration, and confirm that by e-mail. ${SENT_BEFORE} <a href="/privacy">What we keep</a></p>
<button type="submit">End it now</button>
</form>`

/** The heading of one of several accesses. An unverified name is not part of it. */
const accessHeading = ({ verifiedDomain, appHost }: AgentOnPage): string => {
  if (appHost !== undefined) return capitalised(referToApp(appHost, { inMail: false }))
  return verifiedDomain === undefined ? 'An AI agent' : `An AI agent at ${verifiedDomain}`
}

/**
 * The body of `/claim` behind any link that ends an access, where the person has given several: all of them. Opening it
 * changes nothing.
 *
 * @param page.secret of the link, for the button that ends all
 */
export const lentAccessPage = (page: { secret: string; lent: readonly LentAccess[] }): Html =>
  html`<h1>Who can send us messages for you</h1>
<p>You have given access to these ${page.lent.length}. We reply to you by e-mail, whichever of them sends a message.</p>
<p><strong>What happens when you end one:</strong> it can no longer send us messages for you. We erase your address from its registration, and confirm that by e-mail. <a href="/privacy">What we keep</a></p>
${page.lent.map(
  ({ secret, agent, since, until }, index) => html`<h2 id="access-${index}">${accessHeading(agent)}</h2>
${agentLines(agent)}
<p class="facts">Since ${calendarDay(since)}, until ${calendarDay(until)}.</p>
${
  secret === undefined
    ? html`<p>To end this one alone, use the link in the e-mail about it.</p>`
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
<p>${SENT_BEFORE}</p>`

/** @param ended.left the secret of a link that ends another access, if there is one */
export const endedClaimPage = (ended: { all?: boolean; left?: string | undefined } = {}): Html =>
  html`<h1>The access has ended</h1>
<p>${ended.all ? 'Nobody can send us messages for you any more' : 'It can no longer send us messages for you'}, and we have erased your address from ${ended.all ? 'their registrations' : 'its registration'}. We will send you one e-mail ${ended.all && 'about each '}that confirms this.</p>
<p>${SENT_BEFORE}</p>
${
  ended.left !== undefined &&
  html`<form class="form" action="/claim" method="get">
<input name="end" type="hidden" value="${ended.left}">
<p>You have given access to others, too.</p>
<button class="second" type="submit">See who still has access</button>
</form>`
}
<p><a href="/">To the guides</a></p>`

export const ALREADY_ENDED_TITLE = 'This has already ended'

/** Behind the link that ends an agent's access, once that has ended. */
export const alreadyEndedPage = (): Html => html`<h1>${ALREADY_ENDED_TITLE}</h1>
<p>This agent or app no longer has access to send us messages for you. You do not need to do anything.</p>
<p>If you gave it access again later, use the link in the newest e-mail about it.</p>
<p><a href="/">To the guides</a></p>`

/** Behind a link that would end an agent's access, but is none of ours. */
export const brokenEndLinkPage = (): Html => html`<h1>${CLOSED.unknown.title}</h1>
<p>A part of it may be missing. Or the access that it is about ended more than ${durationIn('day', RULES.endedClaimKeptMs)} ago. Copy the whole link from the e-mail.</p>
<p>If you think that something still has access, use the link in the newest e-mail about it.</p>
<p><a href="/">To the guides</a></p>`
