import { type Answer, type Help, RULES } from '@plainpath/domain'
import { renderContactForm, renderMistake, renderMistakeSummary } from './form-pages.ts'
import { GET_HELP } from './get-help-words.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { renderCalendarDay } from './long-date.ts'

type Passage = Answer['passages'][number]
type HandOff = NonNullable<Answer['handOff']>
type OutOfScope = NonNullable<Answer['outOfScope']>

/** The person's answers to the check questions so far, by trigger. */
type Facts = Readonly<Record<string, boolean>>

interface AnsweredPage {
  readonly question: string
  readonly facts: Facts
  readonly answer: Answer
  /** The text of each passage, in order. Source marks may link to `#source-m-n`: the n-th source of the m-th passage. */
  readonly passageHtml: readonly Html[]
}

/** Renders the body of `/ask` before a question, or with the mistake in a question. */
export const renderAskPage = ({
  question = '',
  mistake,
}: {
  question?: string
  mistake?: string
} = {}): Html => html`${renderMistakeSummary({ question: mistake })}
<h1>Ask a question</h1>
${mistake === undefined && html`<p>No person reads your question. A program looks for the answer in our guides.</p>`}
${renderAskForm({ question, mistake, label: 'Your question, such as “What is a green card?”' })}
<p>If your case needs an attorney, we show you where to find one.</p>`

/** Renders the question form, for any page. It sends the question in the request body, which keeps it out of addresses and history. */
export function renderAskForm({
  question = '',
  mistake,
  label = 'Your question',
}: {
  question?: string
  mistake?: string | undefined
  label?: string
} = {}): Html {
  return html`<form class="form ask" action="/ask" method="post" autocomplete="off" novalidate>
<label for="question">${label}</label>
<p class="facts" id="question-hint">Ask in English (<span lang="es">solo en inglés</span>), without names or ${keepTogether('A-Number')}. We do not keep your question.</p>
${renderMistake('question', mistake)}
${
  mistake === undefined
    ? html`<textarea id="question" name="question" rows="3" maxlength="${RULES.questionCharacters}" aria-describedby="question-hint">${question}</textarea>`
    : html`<textarea id="question" name="question" rows="3" aria-invalid="true" aria-describedby="question-mistake question-hint">${question}</textarea>`
}
<button type="submit">Ask</button>
</form>`
}

/**
 * Renders the title and the body of `/ask` with an answer. A hand-off comes before the passages, and begins with the steps to take, if
 * there are any. An urgent hand-off begins with the phone numbers instead if its first step contains one of them. The title never
 * contains the question.
 */
export function renderAnsweredPage(page: AnsweredPage): { title: string; body: Html } {
  const { question, answer } = page
  const { handOff, outOfScope, passages, limits } = answer
  const title = handOff && isUrgent(handOff) ? 'Get help today' : TITLES[answer.outcome]
  const questionQuote = html`<blockquote class="question"><p>${question}</p></blockquote>`
  // A long question would push the phone numbers off the screen.
  const isQuestionShort = question.length <= MAX_SHORT_QUESTION_CHARACTERS
  const body = html`<h1>${title}</h1>
${(isQuestionShort || !handOff) && questionQuote}
${handOff && renderHandOffSection(handOff)}
${handOff && !isQuestionShort && html`<h2>What you asked</h2>\n${questionQuote}`}
${outOfScope && renderOutOfScopeSection(outOfScope)}
${limits !== undefined && html`<p class="notice">${limits}</p>`}
${handOff && passages.length > 0 && html`<h2>What our guides say in the meantime</h2>`}
${answer.outcome === 'information' && html`<p class="facts">A program chose these parts of our guides.</p>`}
${renderPassageSections(page)}
${!handOff && renderCheckSection(page)}
${handOff && renderStaffSection(handOff)}
<h2 id="again">Ask another question</h2>
${renderAskForm({ question, label: 'Your question (you can change it)' })}
<p class="facts">${answer.disclaimer.replace(/^This guide\b/, 'This answer')}</p>`
  return { title, body }
}

const MAX_SHORT_QUESTION_CHARACTERS = 160

const TITLES: Readonly<Record<Answer['outcome'], string>> = {
  information: 'Our answer',
  hand_off: 'Talk to an attorney about this',
  out_of_scope: 'Our guides do not answer this',
}

/** Renders the body of `/ask` while the service cannot answer questions. */
export const renderNoAnswersPage = (
  findHelp: readonly Help[],
): Html => html`<h1>We cannot answer questions right now</h1>
<p>You can still read <a href="/guides">our guides</a>. Try again later, or use one of these:</p>
${renderHelpList(findHelp)}`

const isUrgent = ({ reasons }: HandOff) => reasons.some(({ urgency }) => urgency === 'urgent')

function renderHandOffSection(handOff: HandOff): Html {
  const { reasons, doNow, findHelp } = handOff
  const isUrgentHandOff = isUrgent(handOff)
  const phoneHelp = findHelp.filter(({ phone }) => phone !== undefined)
  const otherHelp = findHelp.filter((help) => !(isUrgentHandOff && phoneHelp.includes(help)))
  const matchedWords = [
    ...new Set(reasons.flatMap(({ because, matched }) => (because === 'question' ? matched : []))),
  ]
  // Leaves out words that are too short to say anything, such as “me”, and words that a longer match contains.
  const quotedWords = matchedWords.filter(
    (words) => words.length > 2 && !matchedWords.some((other) => other !== words && other.includes(words)),
  )
  const mentionsPhone = (line: string, { phone }: Help) => phone !== undefined && line.includes(phone)
  const findStepsAboutPhone = (help: Help) =>
    isUrgentHandOff ? doNow.filter((line) => mentionsPhone(line, help)) : []
  const isShownWithPhone = (line: string) =>
    isUrgentHandOff && phoneHelp.some((help) => mentionsPhone(line, help))
  const otherStepLines = doNow.filter((line) => !isShownWithPhone(line))
  const otherSteps =
    otherStepLines.length > 0 &&
    html`<ul>\n${otherStepLines.map((line) => html`<li>${linkUrls(line)}</li>\n`)}</ul>`
  // Keeps the order of the steps, because some numbers should be called only after talking to a lawyer.
  const [firstStep = ''] = doNow
  const isPhoneFirst = isUrgentHandOff && isShownWithPhone(firstStep)
  const urgentHeading = isPhoneFirst ? 'Call first' : 'What to do now'
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">${isUrgentHandOff ? urgentHeading : 'Why you need an attorney'}</h2>
${!isPhoneFirst && otherSteps}
${!isPhoneFirst && isUrgentHandOff && html`<p><a href="#find-help">Where to find a lawyer</a></p>`}
${isUrgentHandOff && phoneHelp.length > 0 && renderHelpList(phoneHelp, findStepsAboutPhone)}
${isPhoneFirst && otherSteps}
${isUrgentHandOff && html`<h3 id="find-help">Where to find help</h3>\n${renderHelpList(otherHelp)}\n<h3>Why you need an attorney</h3>`}
${quotedWords.length > 0 && html`<p>You wrote: ${quotedWords.map((words, index) => html`${index > 0 && ', '}“${words}”`)}.</p>`}
<ul>
${reasons.map(({ why, source }) => html`<li>${why} <a href="${source.url}">${source.title}</a></li>\n`)}</ul>
${!isUrgentHandOff && html`<h3>Where to find help</h3>\n${renderHelpList(otherHelp)}`}
</section>`
}

/** The reasons for which the page asks “Did you mean U.S. immigration?” and links to the form below. */
const REASONS_TO_ASK_AGAIN: ReadonlySet<OutOfScope['reason']> = new Set(['other-country', 'other-subject'])

function renderOutOfScopeSection({ reason, notices, links, findHelp, nearGuide }: OutOfScope): Html {
  return html`${notices.map(({ language, text }) => html`<p lang="${language}">${text}${language === 'es' && html` <a href="${GET_HELP.es}">Ayuda en español</a>`}</p>\n`)}
${REASONS_TO_ASK_AGAIN.has(reason) && html`<p>Did you mean U.S. immigration? <a href="#again">Ask again</a></p>`}
${links.length > 0 && html`<h2>The official page</h2>\n<ul>\n${links.map((link) => html`<li><a href="${link.url}">${link.title}</a></li>\n`)}</ul>`}
${nearGuide && html`<p>A guide whose subject is near: <a href="${nearGuide.url}">${nearGuide.title}</a>. It does not answer your question.</p>`}
${findHelp.length > 0 && html`<section class="attorney" aria-labelledby="help">\n<h2 id="help">Where to find help</h2>\n${renderHelpList(findHelp)}\n</section>`}`
}

/** Renders a list of places to find help. Each begins with its phone number, if it has one, because people look for that. */
const renderHelpList = (
  findHelp: readonly Help[],
  listLinesBelow: (help: Help) => readonly string[] = () => [],
) => html`<ul class="help">
${findHelp.map((help) => renderHelpItem(help, listLinesBelow(help)))}</ul>`

const renderHelpItem = ({ title, url, phone }: Help, linesBelow: readonly string[]) =>
  html`<li>${phone !== undefined && html`<a class="phone" href="${`tel:${phone}`}">${phone}</a><br>`}${url === undefined ? keepTogether(title) : html`<a href="${url}">${keepTogether(title)}</a>`}${linesBelow.map((line) => html`<br>${linkUrls(line)}`)}</li>\n`

/** Matches a URL without the punctuation after it. Its one group makes `split` return the URLs at odd indexes. */
const HTTPS_URL = /(https:\/\/[^\s]*[^\s.,;:)])/

/** Turns the URLs in a line into links. */
const linkUrls = (line: string): Html =>
  html`${line.split(HTTPS_URL).map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part.replace(/^https:\/\//, '')}</a>` : keepTogether(part)))}`

/** Renders the first passage and every passage that answers the question in full. Collapses the others, so that the page stays short. */
function renderPassageSections({ answer: { passages, check }, passageHtml }: AnsweredPage): Html {
  const numberedPassages = passages.map((passage, index) => ({
    passage,
    text: passageHtml[index],
    passageNumber: index + 1,
  }))
  const fullPassages = numberedPassages.filter(
    ({ passage, passageNumber }) => passage.answers || passageNumber === 1,
  )
  const nearPassages = numberedPassages.filter((numbered) => !fullPassages.includes(numbered))
  return html`${fullPassages.map(
    ({
      passage,
      text,
      passageNumber,
    }) => html`<section class="guide passage" aria-labelledby="passage-${passageNumber}">
<h2 id="passage-${passageNumber}">${keepTogether(passage.heading)}</h2>
${renderPassageBody(passage, text, passageNumber)}
</section>
${passageNumber === 1 && passages.length > 1 && check.length > 0 && html`<p><a href="#check">Check these before you rely on it</a></p>\n`}`,
  )}${
    nearPassages.length > 0 &&
    html`<h2>Related to your question</h2>
<p>These parts of our guides may not cover all that you asked.</p>
${nearPassages.map(
  ({ passage, text, passageNumber }) => html`<details class="guide passage">
<summary><h3 id="passage-${passageNumber}">${keepTogether(passage.heading)}</h3>${passage.guideTitle !== passage.heading && html`<br><span class="facts">${keepTogether(passage.guideTitle)}</span>`}</summary>
${renderPassageBody(passage, text, passageNumber)}
</details>
`,
)}`
  }`
}

function renderPassageBody(
  { id, guideTitle, heading, url, answers, sources }: Passage,
  text: Html | undefined,
  passageNumber: number,
): Html {
  const reportUrl = `/contact?passage=${encodeURIComponent(id)}`
  return html`<p class="facts"><a href="${url}">From the guide “${keepTogether(guideTitle)}”</a></p>
${!answers && passageNumber === 1 && html`<p class="notice">This is related to your question. It may not cover all that you asked.</p>`}
<div class="text">
${text}
</div>
${
  sources.length > 0 &&
  html`<h3>Sources</h3>
<ol class="sources">
${sources.map(
  (source, index) =>
    html`<li id="source-${passageNumber}-${index + 1}"><a href="${source.url}">${source.title}</a>. ${source.agency}. Checked ${renderCalendarDay(source.checked)}${source.stale && '. It may have changed since then, so read it first'}.</li>\n`,
)}</ol>`
}
<p class="facts"><a href="${reportUrl}">Report a mistake in “${heading}”</a></p>`
}

/**
 * Renders the questions that can change the answer. If none is left because the person said no to all of them, renders a note
 * that says so, but only below an answer with information.
 */
function renderCheckSection({ question, facts, answer: { check, outcome } }: AnsweredPage): Html {
  // A fact that is true leads to a hand-off, whose page has no checks, unless staff have disabled its trigger.
  const deniedTriggers = Object.keys(facts).filter((trigger) => facts[trigger] === false)
  if (check.length === 0)
    return deniedTriggers.length === 0 || outcome !== 'information'
      ? html``
      : html`<h2 id="check">None of these applies to you</h2>
<p>You said no to each question that could change this answer. If something changes, or you are not sure, talk to an attorney.</p>`
  return html`<h2 id="check">${outcome === 'information' ? 'Check these before you rely on it' : 'Does one of these apply to you?'}</h2>
<p>Each of these can change the answer. If you say yes to one, we show you where to find an attorney. We do not keep what you say.</p>
<form class="form check" action="/ask" method="post" autocomplete="off">
<input name="question" type="hidden" value="${question}">
${deniedTriggers.map((trigger) => html`<input name="${trigger}" type="hidden" value="no">\n`)}${check.map(
  ({ trigger, ask }) => html`<fieldset class="yes-no">
<legend>${keepTogether(ask)}</legend>
<label><input name="${trigger}" type="radio" value="yes"> Yes</label>
<label><input name="${trigger}" type="radio" value="no"> No</label>
</fieldset>
`,
)}<button type="submit">Send my answers</button>
<button class="second" type="submit" name="none" value="${check.map(({ trigger }) => trigger).join(' ')}">None of these applies</button>
</form>`
}

/** Renders the contact form. It does not contain the question, and staff learn the triggers only if the person ticks a box. */
const renderStaffSection = ({ reasons }: HandOff) => html`<h2 id="staff">Send this to our staff</h2>
<p>People read every message. They cannot give legal advice, and they do not see your question: write what they should know. Do not wait for their answer if somebody is in danger, or if you have a hearing or a deadline soon.</p>
${renderContactForm({ fixedTopic: 'attorney', handOff: { triggers: reasons.map(({ trigger }) => trigger), areReasonsShared: false } })}`
