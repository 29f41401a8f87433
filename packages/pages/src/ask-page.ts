import { type Answer, type Help, RULES } from '@plainpath/domain'
import { contactForm, mistakeAt, mistakeSummary } from './form-pages.ts'
import { type Html, html } from './html.ts'
import { calendarDay } from './long-date.ts'

type Passage = Answer['passages'][number]
type HandOff = NonNullable<Answer['handOff']>
type OutOfScope = NonNullable<Answer['outOfScope']>

/** What a person said so far, by trigger. */
type Facts = Readonly<Record<string, boolean>>

interface AnsweredPage {
  readonly question: string
  readonly facts: Facts
  readonly answer: Answer
  /** The text of each passage, in their order. Its marks may point at the n-th source of the m-th passage as `#source-m-n`. */
  readonly passageHtml: readonly Html[]
}

/** The body of `/ask` before a question, or with what is wrong with one. */
export const askPage = ({
  question = '',
  mistake,
}: {
  question?: string
  mistake?: string
} = {}): Html => html`${mistakeSummary({ question: mistake })}
<h1>Ask a question</h1>
<p class="lead">Ask about U.S. immigration in your own words. Our guides answer, or we show you where to find an attorney.</p>
${askForm({ question, mistake })}`

/** The form of `/ask`, for any page. The question is sent in the body, so that no address and no history has it. */
export function askForm({
  question = '',
  mistake,
  label = 'Your question',
}: {
  question?: string
  mistake?: string | undefined
  label?: string
} = {}): Html {
  return html`<form class="form ask" action="/ask" method="post" novalidate>
<label for="question">${label}</label>
${mistakeAt('question', mistake)}
${
  mistake === undefined
    ? html`<textarea id="question" name="question" rows="4" maxlength="${RULES.questionCharacters}" aria-describedby="question-hint">${question}</textarea>`
    : html`<textarea id="question" name="question" rows="4" aria-invalid="true" aria-describedby="question-mistake question-hint">${question}</textarea>`
}
<p class="facts" id="question-hint">Leave out names and numbers, such as your A-Number. We do not keep your question. We can read English only.</p>
<button type="submit">Ask</button>
</form>`
}

/** The title and the body of `/ask` with an answer. An urgent hand-off begins with the phone numbers. */
export function answeredPage(page: AnsweredPage): { title: string; body: Html } {
  const { question, answer } = page
  const { handOff, outOfScope, passages, limits } = answer
  const title = TITLES[answer.outcome]
  const body = html`<h1>${title}</h1>
<blockquote class="question"><p>${question}</p></blockquote>
${answer.check.length > 0 && html`<p><a href="#check">Some questions below</a> can change this answer.</p>`}
${handOff && handOffSection(handOff)}
${outOfScope && outOfScopeSection(outOfScope)}
${answer.outcome === 'information' && limits !== undefined && html`<p class="notice">${limits}</p>`}
${handOff && passages.length > 0 && html`<h2>What our guides say meanwhile</h2>`}
${passages.map((passage, index) => passageSection(passage, page.passageHtml[index], index + 1))}
${answer.outcome === 'information' && checkSection(page)}
${handOff && staffSection(handOff)}
<p class="facts">${answer.disclaimer}</p>
<h2 id="again">Ask another question</h2>
${askForm({ question, label: 'Your question, which you can change' })}`
  return { title, body }
}

const TITLES: Readonly<Record<Answer['outcome'], string>> = {
  information: 'What our guides say',
  hand_off: 'Talk to an attorney about this',
  out_of_scope: 'Our guides do not answer this',
}

/** The body of `/ask` while no question is answered. */
export const noAnswersPage = (findHelp: readonly Help[]): Html => html`<h1>We cannot answer questions now</h1>
<p>You can still read <a href="/">our guides</a>. Try again later, or use one of these:</p>
${helpList(findHelp)}`

function handOffSection({ reasons, doNow, findHelp }: HandOff): Html {
  const urgent = reasons.some(({ urgency }) => urgency === 'urgent')
  const phones = findHelp.filter(({ phone }) => phone !== undefined)
  const others = findHelp.filter((help) => !(urgent && phones.includes(help)))
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">${urgent ? 'Get help today' : 'Why you need an attorney'}</h2>
${urgent && phones.length > 0 && helpList(phones)}
${doNow.length > 0 && html`<ul>\n${doNow.map((line) => html`<li>${line}</li>\n`)}</ul>`}
${urgent && html`<h3>Why you need an attorney</h3>`}
<ul>
${reasons.map(({ why, source }) => html`<li>${why} <a href="${source.url}">${source.title}</a></li>\n`)}</ul>
<h3>Where to find help</h3>
${helpList(others)}
</section>`
}

function outOfScopeSection({ notices, links, findHelp, nearGuide }: OutOfScope): Html {
  return html`${notices.map(({ language, text }) => html`<p lang="${language}">${text}</p>\n`)}
${links.length > 0 && html`<h2>The official page</h2>\n<ul>\n${links.map((link) => html`<li><a href="${link.url}">${link.title}</a></li>\n`)}</ul>`}
${nearGuide && html`<p>A guide whose subject is near: <a href="${nearGuide.url}">${nearGuide.title}</a>. It does not answer your question.</p>`}
${findHelp.length > 0 && html`<section class="attorney" aria-labelledby="help">\n<h2 id="help">Where to find help</h2>\n${helpList(findHelp)}\n</section>`}`
}

const helpList = (findHelp: readonly Help[]) => html`<ul class="help">
${findHelp.map(({ title, url, phone }) => html`<li>${url === undefined ? title : html`<a href="${url}">${title}</a>`}${phone !== undefined && html`: <a class="phone" href="${`tel:${phone}`}">${phone}</a>`}</li>\n`)}</ul>`

function passageSection(
  { id, heading, url, answers, sources }: Passage,
  text: Html | undefined,
  place: number,
): Html {
  const mistake = `/contact?passage=${encodeURIComponent(id)}`
  return html`<section class="guide passage" aria-labelledby="passage-${place}">
<h2 id="passage-${place}">${heading}</h2>
${!answers && html`<p class="notice">This is near your question. It may not cover all that you asked.</p>`}
<div class="text">
${text}
</div>
<p>The whole guide: <a href="${url}">${heading}, in its place</a></p>
${
  sources.length > 0 &&
  html`<h3>Sources</h3>
<ol class="sources">
${sources.map(
  (source, index) =>
    html`<li id="source-${place}-${index + 1}"><a href="${source.url}">${source.title}</a>. ${source.agency}. Checked ${calendarDay(source.checked)}${source.stale && ', too long ago: look at it first'}.</li>\n`,
)}</ol>`
}
<p class="facts"><a href="${mistake}">Report a mistake in “${heading}”</a></p>
</section>`
}

/** The questions whose answers change what a person should do; or, when all were answered, that none of them applies. */
function checkSection({ question, facts, answer: { check } }: AnsweredPage): Html {
  const denied = Object.keys(facts)
  if (check.length === 0)
    return denied.length === 0
      ? html``
      : html`<h2 id="check">None of these applies to you</h2>
<p>You said no to each question that could change this answer. If something changes, or you are not sure, talk to an attorney.</p>`
  return html`<h2 id="check">Does one of these apply to you?</h2>
<p>Each of these can change the answer. If you say yes to one, we show you where to find an attorney. We do not keep what you say.</p>
<form class="form" action="/ask" method="post">
<input name="question" type="hidden" value="${question}">
${denied.map((trigger) => html`<input name="${trigger}" type="hidden" value="no">\n`)}${check.map(
  ({ trigger, ask }) => html`<fieldset>
<legend>${ask}</legend>
<label><input name="${trigger}" type="radio" value="yes"> Yes</label>
<label><input name="${trigger}" type="radio" value="no"> No</label>
</fieldset>
`,
)}<button type="submit">Send my answers</button>
<button class="second" type="submit" name="none" value="${check.map(({ trigger }) => trigger).join(' ')}">None of these applies</button>
</form>`
}

/** Our staff learn the triggers alone, and those only if the person agrees: never the question. */
const staffSection = ({ reasons }: HandOff) => html`<h2 id="staff">Send this to our staff</h2>
<p>People read every message. They cannot give legal advice, and they do not see your question: write what they should know. Do not wait for their answer if somebody is in danger, or a date is near.</p>
${contactForm({ topic: 'attorney', handOff: { triggers: reasons.map(({ trigger }) => trigger), isTold: false } })}`
