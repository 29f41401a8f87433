import { type Answer, type Help, RULES } from '@plainpath/domain'
import { keepForms } from './form-numbers.ts'
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
  /** The title of the guide of each passage, in their order. */
  readonly guideTitles: readonly string[]
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
${mistake === undefined && html`<p class="lead">A program looks for the answer in our guides. No person reads your question.</p>`}
${askForm({ question, mistake, label: 'Your question, such as “What is a green card?”' })}
<p>If a case needs an attorney, we show you where to find one.</p>`

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
  return html`<form class="form ask" action="/ask" method="post" autocomplete="off" novalidate>
<label for="question">${label}</label>
<p class="facts" id="question-hint">In English (<span lang="es">solo en inglés</span>). Leave out names and numbers, such as your ${keepForms('A-Number')}. We do not keep your question.</p>
${mistakeAt('question', mistake)}
${
  mistake === undefined
    ? html`<textarea id="question" name="question" rows="3" maxlength="${RULES.questionCharacters}" aria-describedby="question-hint">${question}</textarea>`
    : html`<textarea id="question" name="question" rows="3" aria-invalid="true" aria-describedby="question-mistake question-hint">${question}</textarea>`
}
<button type="submit">Ask</button>
</form>`
}

/**
 * The title and the body of `/ask` with an answer. A hand-off begins with what to do, an urgent one with the phone numbers.
 * What was asked is in the text and in the form only.
 */
export function answeredPage(page: AnsweredPage): { title: string; body: Html } {
  const { question, answer } = page
  const { handOff, outOfScope, passages, limits } = answer
  const title = handOff && isUrgent(handOff) ? 'Get help today' : TITLES[answer.outcome]
  const asked = html`<blockquote class="question"><p>${question}</p></blockquote>`
  // A long question would push the phone numbers off the screen.
  const isShort = question.length <= SHORT_QUESTION
  const body = html`<h1>${title}</h1>
${(isShort || !handOff) && asked}
${handOff && handOffSection(handOff)}
${handOff && !isShort && html`<h2>What you asked</h2>\n${asked}`}
${outOfScope && outOfScopeSection(outOfScope)}
${answer.outcome === 'information' && limits !== undefined && html`<p class="notice">${limits}</p>`}
${handOff && passages.length > 0 && html`<h2>What our guides say meanwhile</h2>`}
${passageSections(page)}
${answer.outcome === 'information' && checkSection(page)}
${handOff && staffSection(handOff)}
<h2 id="again">Ask another question</h2>
${askForm({ question, label: 'Your question, which you can change' })}
<p class="facts">${answer.disclaimer.replace(/^This guide\b/, 'This answer')}</p>`
  return { title, body }
}

/** In characters. */
const SHORT_QUESTION = 160

const TITLES: Readonly<Record<Answer['outcome'], string>> = {
  information: 'Our answer',
  hand_off: 'Talk to an attorney about this',
  out_of_scope: 'Our guides do not answer this',
}

/** The body of `/ask` while no question is answered. */
export const noAnswersPage = (findHelp: readonly Help[]): Html => html`<h1>We cannot answer questions now</h1>
<p>You can still read <a href="/guides">our guides</a>. Try again later, or use one of these:</p>
${helpList(findHelp)}`

const isUrgent = ({ reasons }: HandOff) => reasons.some(({ urgency }) => urgency === 'urgent')

function handOffSection(handOff: HandOff): Html {
  const { reasons, doNow, findHelp } = handOff
  const urgent = isUrgent(handOff)
  const phones = findHelp.filter(({ phone }) => phone !== undefined)
  const others = findHelp.filter((help) => !(urgent && phones.includes(help)))
  const stated = [
    ...new Set(reasons.flatMap(({ because, matched }) => (because === 'question' ? matched : []))),
  ]
  const said = stated.filter((words) => !stated.some((other) => other !== words && other.includes(words)))
  const isAbout = (line: string, { phone }: Help) => phone !== undefined && line.includes(phone)
  const aboutPhone = (help: Help) => (urgent ? doNow.filter((line) => isAbout(line, help)) : [])
  const otherLines = doNow.filter((line) => !(urgent && phones.some((help) => isAbout(line, help))))
  return html`<section class="attorney" aria-labelledby="attorney">
<h2 id="attorney">${urgent ? 'Call first' : 'Why you need an attorney'}</h2>
${urgent && phones.length > 0 && helpList(phones, aboutPhone)}
${otherLines.length > 0 && html`<ul>\n${otherLines.map((line) => html`<li>${withLinks(line)}</li>\n`)}</ul>`}
${urgent && html`<h3>Where to find help</h3>\n${helpList(others)}\n<h3>Why you need an attorney</h3>`}
${said.length > 0 && html`<p>You wrote: ${said.map((words, index) => html`${index > 0 && ', '}“${words}”`)}.</p>`}
<ul>
${reasons.map(({ why, source }) => html`<li>${why} <a href="${source.url}">${source.title}</a></li>\n`)}</ul>
${!urgent && html`<h3>Where to find help</h3>\n${helpList(others)}`}
</section>`
}

/** The reasons for which the question may be read again as one about immigration. */
const ELSEWHERE: ReadonlySet<OutOfScope['reason']> = new Set(['other-country', 'other-subject'])

function outOfScopeSection({ reason, notices, links, findHelp, nearGuide }: OutOfScope): Html {
  return html`${notices.map(({ language, text }) => html`<p lang="${language}">${text}</p>\n`)}
${ELSEWHERE.has(reason) && html`<p>Did you mean U.S. immigration? <a href="#again">Ask again</a></p>`}
${links.length > 0 && html`<h2>The official page</h2>\n<ul>\n${links.map((link) => html`<li><a href="${link.url}">${link.title}</a></li>\n`)}</ul>`}
${nearGuide && html`<p>A guide whose subject is near: <a href="${nearGuide.url}">${nearGuide.title}</a>. It does not answer your question.</p>`}
${findHelp.length > 0 && html`<section class="attorney" aria-labelledby="help">\n<h2 id="help">Where to find help</h2>\n${helpList(findHelp)}\n</section>`}`
}

/** The phone number of each first: it is what people look for. */
const helpList = (
  findHelp: readonly Help[],
  more: (help: Help) => readonly string[] = () => [],
) => html`<ul class="help">
${findHelp.map((help) => helpItem(help, more(help)))}</ul>`

const helpItem = ({ title, url, phone }: Help, more: readonly string[]) =>
  html`<li>${phone !== undefined && html`<a class="phone" href="${`tel:${phone}`}">${phone}</a><br>`}${url === undefined ? title : html`<a href="${url}">${title}</a>`}${more.map((line) => html`<br>${withLinks(line)}`)}</li>\n`

const ADDRESS = /(https:\/\/[^\s]*[^\s.,;:)])/

/** Makes the addresses of a line links. */
const withLinks = (line: string): Html =>
  html`${line.split(ADDRESS).map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part.replace(/^https:\/\//, '')}</a>` : part))}`

/** The passages that answer, or the first, in full. The others can be opened, so that the page stays short. */
function passageSections({ answer: { passages, check }, passageHtml, guideTitles }: AnsweredPage): Html {
  const all = passages.map((passage, index) => ({
    passage,
    text: passageHtml[index],
    guideTitle: guideTitles[index] ?? passage.guide,
    place: index + 1,
  }))
  const main = all.filter(({ passage, place }) => passage.answers || place === 1)
  const near = all.filter((each) => !main.includes(each))
  return html`${main.map(
    ({
      passage,
      text,
      guideTitle,
      place,
    }) => html`<section class="guide passage" aria-labelledby="passage-${place}">
<h2 id="passage-${place}">${keepForms(passage.heading)}</h2>
${passageBody(passage, text, { guideTitle, place })}
</section>
${place === 1 && passages.length > 1 && check.length > 0 && html`<p><a href="#check">Check these before you rely on it</a></p>\n`}`,
  )}${
    near.length > 0 &&
    html`<h2>Near your question</h2>
<p>These parts of our guides may not cover all that you asked.</p>
${near.map(
  ({ passage, text, guideTitle, place }) => html`<details class="guide passage">
<summary><h3 id="passage-${place}">${keepForms(passage.heading)}</h3><br><span class="facts">${keepForms(guideTitle)}</span></summary>
${passageBody(passage, text, { guideTitle, place })}
</details>
`,
)}`
  }`
}

function passageBody(
  { id, heading, url, answers, sources }: Passage,
  text: Html | undefined,
  { guideTitle, place }: { guideTitle: string; place: number },
): Html {
  const mistake = `/contact?passage=${encodeURIComponent(id)}`
  return html`<p class="facts"><a href="${url}">From the guide “${keepForms(guideTitle)}”</a></p>
${!answers && place === 1 && html`<p class="notice">This is near your question. It may not cover all that you asked.</p>`}
<div class="text">
${text}
</div>
${
  sources.length > 0 &&
  html`<h3>Sources</h3>
<ol class="sources">
${sources.map(
  (source, index) =>
    html`<li id="source-${place}-${index + 1}"><a href="${source.url}">${source.title}</a>. ${source.agency}. Checked ${calendarDay(source.checked)}${source.stale && ', too long ago: look at it first'}.</li>\n`,
)}</ol>`
}
<p class="facts"><a href="${mistake}">Report a mistake in “${heading}”</a></p>`
}

/** The questions whose answers change what a person should do; or, when all were answered, that none of them applies. */
function checkSection({ question, facts, answer: { check } }: AnsweredPage): Html {
  const denied = Object.keys(facts)
  if (check.length === 0)
    return denied.length === 0
      ? html``
      : html`<h2 id="check">None of these applies to you</h2>
<p>You said no to each question that could change this answer. If something changes, or you are not sure, talk to an attorney.</p>`
  return html`<h2 id="check">Check these before you rely on it</h2>
<p>Each of these can change the answer. If you say yes to one, we show you where to find an attorney. We do not keep what you say.</p>
<form class="form" action="/ask" method="post" autocomplete="off">
<input name="question" type="hidden" value="${question}">
${denied.map((trigger) => html`<input name="${trigger}" type="hidden" value="no">\n`)}${check.map(
  ({ trigger, ask }) => html`<fieldset class="yes-no">
<legend>${keepForms(ask)}</legend>
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
${contactForm({ fixedTopic: 'attorney', handOff: { triggers: reasons.map(({ trigger }) => trigger), isTold: false } })}`
