import { durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { cleanAgentName, DOMAIN_CHECKED, DOMAIN_MEANING } from './agent-names.ts'
import { referToApp } from './app-names.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { renderCalendarDay } from './long-date.ts'

const EMAIL = keepTogether('e-mail')
const CODES_IN_WORDS = numberInWords(RULES.verificationCodes)
const CODE_LIFETIME = durationIn('minute', RULES.verificationCodeMs)
/** Tells the person how a *no* affects later mails. A *no* also refuses the agent. */
const NO_MORE_MAILS = `For ${durationIn('day', RULES.verificationBlockMs)} after you say no, we send you no more e-mails like the one that brought you here. An agent that already has your permission can still ask you again.`

/** The facts that a page shows about an agent or an app that acts for a person, or says that it does. */
export interface AgentOnPage {
  /** The name that the agent gave itself. It is unverified. */
  readonly name?: string | undefined
  /** The host that the agent has proven to control. If present, the page names the agent only by this host. */
  readonly verifiedDomain?: string | undefined
  /** For a connection: the host of its app, `loopback` or a scheme, as `formatAppHost` returns it. */
  readonly appHost?: string | undefined
  /** The day of the registration, as `YYYY-MM-DD`. */
  readonly registered: string
}

export interface ClaimQuestionPage {
  /** The secret in the mailed link. It identifies the attempt. */
  readonly secret: string
  readonly matchPhrase: string
  readonly agent: AgentOnPage
  /** The number of codes that the page can still show. */
  readonly codesLeft: number
  /** True if the page has shown a code before. */
  readonly wasCodeShown: boolean
}

/** Renders the page that a mailed link opens. It asks whether this is the person's agent. Opening it changes nothing. */
export function renderVerificationQuestionPage(page: ClaimQuestionPage): Html {
  return html`<h1>Does this AI agent act for you?</h1>
<p>An AI agent is a program, such as a chat assistant. One says that it acts for you. It must show you these two words:</p>
<pre class="large"><code id="match-phrase">${page.matchPhrase}</code></pre>
<p>If the agent shows you other words, or you do not know the agent, close this page. Nothing happens then.</p>
${renderAgentLines(page.agent)}
${page.wasCodeShown && html`<p class="notice">We have shown you a code before. A new code replaces it.</p>`}
${page.codesLeft > 0 ? renderYesForm(page, CODE_EFFECT) : html`<p class="notice">We have shown you ${CODES_IN_WORDS} codes and cannot show more. The last code works for ${CODE_LIFETIME} after you saw it. After that, ask your agent to start again.</p>`}
<h2>If this is not your agent, or the words differ</h2>
${renderNoForm(page.secret)}`
}

/** Renders the form with the *no* button. */
const renderNoForm = (secret: string) => html`<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${secret}">
<p><strong>What happens next:</strong> the agent gets no access. ${keepTogether(NO_MORE_MAILS)}</p>
<button type="submit" name="answer" value="no">No, this is not my agent</button>
</form>`

const CODE_EFFECT = html`we show you a code with ${numberInWords(RULES.verificationCodeDigits)} digits. Give it to your agent, and to no one else. The agent can then send our staff messages for you for ${durationIn('day', RULES.verificationMs)}, and we reply to you by ${EMAIL}. You can end its access at any time. <a href="/privacy">What we keep</a>`
const NEW_CODE_EFFECT = html`we show you a new code. The old one then stops working. We show at most ${CODES_IN_WORDS}.`

/**
 * Renders the form with the *yes* button.
 *
 * @param effect says what the button does
 */
const renderYesForm = (
  { secret, codesLeft, wasCodeShown }: ClaimQuestionPage,
  effect: Html,
) => html`<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${secret}">
<p><strong>What happens next:</strong> ${effect}</p>
<button type="submit" name="answer" value="yes">${wasCodeShown ? 'Show a new code' : 'Yes, my agent shows the same words: show my code'}</button>
${codesLeft === 1 && html`<p class="facts">This is the last code that we can show.</p>`}
</form>`

/** Renders what is known about an agent or an app. */
export function renderAgentLines({ name, verifiedDomain, appHost, registered }: AgentOnPage): Html {
  if (appHost !== undefined)
    return html`<p>It is <strong>${referToApp(appHost, { inMail: false })}</strong>.${name !== undefined && html` It calls itself <strong><bdi>“${cleanAgentName(name)}”</bdi></strong>. The app gave us that name. We did not check it.`}</p>`
  return verifiedDomain === undefined
    ? renderNameLines(name, registered)
    : html`<p>The agent is at <strong>${verifiedDomain}</strong> ${DOMAIN_CHECKED}. ${DOMAIN_MEANING}</p>
<p class="facts">It first contacted us on ${renderCalendarDay(registered)}.</p>`
}

const renderNameLines = (name: string | undefined, registered: string) => html`${
  name === undefined
    ? html`<p>The agent gave us no name.</p>`
    : html`<p>The agent calls itself <strong><bdi>“${cleanAgentName(name)}”</bdi></strong>. That name is <strong>unverified</strong>: an agent can give itself any name.</p>`
}
<p class="facts">It registered with us on ${renderCalendarDay(registered)}.</p>`

/**
 * Renders the page that the *yes* button opens.
 *
 * @param page.code six digits, which the service shows on this page only
 */
export const renderVerificationCodePage = (
  page: Omit<ClaimQuestionPage, 'wasCodeShown'> & { code: string },
): Html =>
  html`<h1>The code for your agent</h1>
<p>Give this code to the agent that shows you the words <strong class="form-name">${page.matchPhrase}</strong>:</p>
<pre class="large"><code id="code">${page.code.slice(0, 3)} ${page.code.slice(3)}</code></pre>
<p>The code works once, for ${CODE_LIFETIME}. We never ask you for it by ${EMAIL} or phone. Give it to no one but your agent.</p>
<p>When your agent has used the code, we send you an ${EMAIL}. It has a link. Open it when you want to end the agent’s access.</p>
${
  page.codesLeft > 0 &&
  html`<h2>If the code no longer works</h2>
${renderYesForm({ ...page, wasCodeShown: true }, NEW_CODE_EFFECT)}`
}`

/** The reasons for which the page behind a mailed link can show no code. */
export type ClosedClaim =
  | 'unknown'
  | 'completed'
  | 'locked'
  | 'declined'
  | 'expired'
  | 'superseded'
  | 'failed'
  | 'no-codes-left'

const START_AGAIN = 'If you still want this, ask your agent to start again. We then send you a new e-mail.'

const CLOSED_CLAIM_TEXTS: Readonly<
  Record<ClosedClaim, { readonly title: string; readonly text: readonly string[] }>
> = {
  unknown: {
    title: 'This link does not work',
    text: [
      `A part of it may be missing, or it is more than ${durationInWords('day', RULES.verificationAttemptKeptMs)} old. Copy the whole link from the e-mail.`,
      START_AGAIN,
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
    text: ['The agent sent us too many wrong codes. This link shows no more codes.', START_AGAIN],
  },
  declined: {
    title: 'You said no',
    text: [
      'The agent gets no access. If you had given it access with this e-mail address, that access has ended.',
      'If you gave it access with another address, even one that only adds a + and a word, that access goes on. To end it, use the link in our e-mail about it.',
      NO_MORE_MAILS,
    ],
  },
  expired: {
    title: 'This link has expired',
    text: [`The link in the e-mail worked for ${durationIn('hour', RULES.verificationLinkMs)}.`, START_AGAIN],
  },
  superseded: {
    title: 'This request is over',
    text: [
      'The agent has started again, or has given up. If you want this, use the link in our newest e-mail, or ask your agent to start again.',
    ],
  },
  failed: {
    title: 'This link does not work',
    text: ['Something went wrong when we sent the e-mail.', START_AGAIN],
  },
  'no-codes-left': {
    title: 'We cannot show more codes',
    text: [
      `We have shown you ${CODES_IN_WORDS} codes for this link. The last code works for ${CODE_LIFETIME} after you saw it.`,
      START_AGAIN,
    ],
  },
}

export const getClosedVerificationTitle = (reason: ClosedClaim): string => CLOSED_CLAIM_TEXTS[reason].title

/**
 * Renders the page for a mailed link that can show no code.
 *
 * @param options.secretToDecline the secret of the link, if the person can still say no
 */
export const renderClosedVerificationPage = (
  reason: ClosedClaim,
  { secretToDecline }: { secretToDecline?: string | undefined } = {},
): Html => html`<h1>${CLOSED_CLAIM_TEXTS[reason].title}</h1>
${CLOSED_CLAIM_TEXTS[reason].text.map((line) => html`<p>${keepTogether(line)}</p>\n`)}${
  secretToDecline !== undefined &&
  html`<h2>If this is not your agent</h2>
${renderNoForm(secretToDecline)}
`
}<p><a href="/">To the guides</a></p>`
