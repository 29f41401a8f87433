import { durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'
import { calendarDay } from './long-date.ts'

const CODES = numberInWords(RULES.claimCodes)
const CODE_LASTS = durationIn('minute', RULES.claimCodeMs)
const BLOCK_LASTS = durationIn('day', RULES.claimBlockMs)

/** What a person needs to know of an agent that says it acts for them. */
export interface AgentOnPage {
  /** The agent's own word; nobody checked it. */
  readonly name?: string | undefined
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

/** The body of `/claim` behind a mailed link: is this the agent that the person talks to? Looking changes nothing. */
export function claimQuestionPage(page: ClaimQuestionPage): Html {
  return html`<h1>Is this your agent?</h1>
<p>An AI agent says that it acts for you. It must show you these two words:</p>
<pre><code id="match-phrase">${page.matchPhrase}</code></pre>
${agentLines(page.agent)}
${page.shown && html`<p class="notice">We showed you a code before. If you ask for a new one, only the new one works.</p>`}
${page.codesLeft > 0 ? yesForm(page) : html`<p class="notice">We showed you ${CODES} codes, and cannot show more. The last one works for ${CODE_LASTS} from when you saw it. After that, ask your agent to start again.</p>`}
<h2>If this is not your agent</h2>
<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> the agent gets no code. For ${BLOCK_LASTS}, we send you no such mail for agents that you have not let in before.</p>
<button type="submit" name="answer" value="no">No, this is not my agent</button>
</form>`
}

const yesForm = ({
  secret,
  codesLeft,
}: ClaimQuestionPage) => html`<form class="form" action="/claim" method="post">
<input name="attempt" type="hidden" value="${secret}">
<p><strong>What happens next:</strong> we show you a code with ${numberInWords(RULES.claimCodeDigits)} digits. Tell it to your agent, and to nobody else. Then, for ${durationIn('day', RULES.claimMs)}, the agent can send us messages for you, and our answers go to your e-mail address. You can end that at any time. <a href="/privacy">What we keep</a></p>
<button type="submit" name="answer" value="yes">Yes, my agent shows the same words: show my code</button>
${codesLeft === 1 && html`<p class="facts">This is the last code that we can show.</p>`}
</form>`

const agentLines = ({ name, registered }: AgentOnPage) => html`${
  name === undefined
    ? html`<p>The agent gave us no name.</p>`
    : html`<p>The agent calls itself <strong><bdi>“${name}”</bdi></strong>. That name is <strong>unverified</strong>: an agent can give itself any name.</p>`
}
<p class="facts">It signed up here on ${calendarDay(registered)}.</p>`

/** The body of `/claim` after *yes*. @param page.code six digits, shown here and never again */
export const claimCodePage = (page: Omit<ClaimQuestionPage, 'shown'> & { code: string }): Html =>
  html`<h1>Your code</h1>
<p>Tell this code to the agent that shows you the words <strong>${page.matchPhrase}</strong>:</p>
<pre><code id="code">${page.code.slice(0, 3)} ${page.code.slice(3)}</code></pre>
<p>The code works once, for ${CODE_LASTS}. We will never ask you for it by mail or phone. Tell it to nobody but your agent.</p>
<p>When your agent has used it, you get a mail from us. It has a link to end this.</p>
${
  page.codesLeft > 0 &&
  html`<h2>If the code no longer works</h2>
${yesForm({ ...page, shown: true })}`
}`

/** Why a mailed link leads no further. */
export type ClosedClaim =
  | 'unknown'
  | 'completed'
  | 'locked'
  | 'declined'
  | 'expired'
  | 'superseded'
  | 'failed'
  | 'no-codes-left'

const AGAIN = 'If you still want this, ask your agent to start again. You then get a new mail.'

const CLOSED: Readonly<Record<ClosedClaim, { readonly title: string; readonly text: readonly string[] }>> = {
  unknown: {
    title: 'This link does not work',
    text: [
      `It may be cut off, or it is more than ${durationInWords('day', RULES.claimAttemptKeptMs)} old. Copy the whole link from the mail.`,
      AGAIN,
    ],
  },
  completed: {
    title: 'This is done',
    text: [
      'Your agent has used the code. You do not need to do anything.',
      'To end what the agent may do for you, open the link in the mail that we sent you then.',
    ],
  },
  locked: {
    title: 'Too many wrong codes',
    text: ['The agent sent us too many codes that were wrong. We take no more for this link.', AGAIN],
  },
  declined: {
    title: 'You said no',
    text: [
      'The agent gets no code. If it could send us messages for you before, that has ended too.',
      `For ${BLOCK_LASTS} after you said no, we send you no such mail for agents that you have not let in before. You do not need to do anything.`,
    ],
  },
  expired: {
    title: 'This link has expired',
    text: [`The link in the mail works for ${durationIn('hour', RULES.claimLinkMs)}.`, AGAIN],
  },
  superseded: {
    title: 'There is a newer mail',
    text: [
      'Your agent has started again, or has stopped. If you got a newer mail from us, use the link in that one.',
    ],
  },
  failed: { title: 'This link does not work', text: ['Something went wrong with the mail.', AGAIN] },
  'no-codes-left': {
    title: 'We cannot show more codes',
    text: [
      `We showed you ${CODES} codes for this link. The last one works for ${CODE_LASTS} from when you saw it.`,
      AGAIN,
    ],
  },
}

export const closedClaimTitle = (why: ClosedClaim): string => CLOSED[why].title

export const closedClaimPage = (why: ClosedClaim): Html => html`<h1>${CLOSED[why].title}</h1>
${CLOSED[why].text.map((line) => html`<p>${line}</p>\n`)}<p><a href="/">To the guides</a></p>`

/** The body of `/claim` behind the link that ends a claim. Looking changes nothing. @param page.until `YYYY-MM-DD` */
export const endClaimPage = (page: { secret: string; agent: AgentOnPage; until: string }): Html =>
  html`<h1>Do you want to end this?</h1>
<p>An AI agent can send us messages for you, until ${calendarDay(page.until)}. Our answers go to your e-mail address.</p>
${agentLines(page.agent)}
<form class="form" action="/claim" method="post">
<input name="end" type="hidden" value="${page.secret}">
<p><strong>What happens next:</strong> the agent can send us nothing more for you, from that moment on. We erase your address from its registration. Messages that it sent before stay for as long as <a href="/privacy">our privacy page</a> says.</p>
<button type="submit">End it now</button>
</form>`

export const endedClaimPage = (): Html => html`<h1>It has ended</h1>
<p>The agent can send us nothing more for you, and we have erased your address from its registration.</p>
<p><a href="/">To the guides</a></p>`

/** Behind a link that ends a claim, when there is nothing to end. */
export const noClaimPage = (): Html => html`<h1>There is nothing to end</h1>
<p>It has ended before, or the link is cut off. If you let the agent in again later, open the link in the newest mail that told you so. Otherwise, if you think that an agent can still send us messages for you, copy the whole link from the mail and try again.</p>
<p><a href="/">To the guides</a></p>`
