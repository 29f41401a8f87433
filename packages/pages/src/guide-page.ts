import type { SourceKind } from '@plainpath/domain'
import { attorneyHelp } from './attorney-help.ts'
import { keepForms } from './form-numbers.ts'
import { type Html, html } from './html.ts'
import { calendarDay } from './long-date.ts'

/** What the page of a guide shows. Days are `YYYY-MM-DD`. */
export interface GuideOnPage {
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** Who the guide is for. */
  readonly audience: string
  readonly sources: readonly SourceOnPage[]
  readonly updated: string
  /** Null until a named person reviewed the guide. */
  readonly reviewed: string | null
  readonly statements: number
  /** Those of which all sources were checked too long ago. */
  readonly staleStatements: number
  /** Newest first. */
  readonly history: readonly { readonly date: string; readonly version: number; readonly text: string }[]
  readonly disclaimer: string
  readonly talkToAnAttorneyWhen: readonly string[]
}

interface SourceOnPage {
  readonly title: string
  readonly url: string
  readonly agency: string
  readonly kind: SourceKind
  readonly checked: string
  /** True when it was checked too long ago. */
  readonly stale: boolean
}

/** A part of a guide under a level-2 heading. */
interface SectionOnPage {
  /** `slug#key`, by which people report a mistake. */
  readonly id: string
  /** The `id` of its heading. */
  readonly key: string
  readonly heading: string
  /** With headings from `h3` down. */
  readonly html: Html
}

interface GuideParts {
  /** What stands before the first heading. */
  readonly introHtml?: Html | undefined
  readonly sections: readonly SectionOnPage[]
  /** What the guide itself says on when to talk to an attorney; the plain list of reasons when absent. */
  readonly attorneyHtml?: Html | undefined
  readonly related: readonly { readonly slug: string; readonly title: string }[]
  /** True on a page about abuse or detention whose guide says to call 911. */
  readonly isDangerNamed?: boolean
  /** Where the page is, for its print. */
  readonly url: string
  /** Where the guide is JSON, or Markdown on request. */
  readonly apiUrl: string
  /** Where it is Markdown for whoever asks. */
  readonly markdownUrl: string
}

/** The body of a guide's page, marked up as a schema.org WebPage by attributes. */
export function guidePage(guide: GuideOnPage, parts: GuideParts): Html {
  const { sections, attorneyHtml, related } = parts
  return html`<article class="guide" itemscope itemtype="https://schema.org/WebPage">
<h1>${keepForms(guide.title)}</h1>
${parts.isDangerNamed && html`<p class="danger"><strong>In danger now?</strong> Call <a href="tel:911">911</a>.</p>`}
<p class="lead">${keepForms(guide.summary)}</p>
<meta itemprop="name" content="${guide.title}">
<meta itemprop="dateModified" content="${guide.updated}">
${guide.reviewed !== null && html`<meta itemprop="lastReviewed" content="${guide.reviewed}">`}
<p><strong>Who this is for:</strong> ${keepForms(guide.audience)}</p>
<p class="facts">${lastReadLine(guide.sources)} ${reviewedLine(guide.reviewed)} ${correctedLine(guide.history)}</p>
${guide.staleStatements > 0 && html`<p class="notice">${staleNotice(guide)}</p>`}
<p class="before"><a href="#attorney">When to talk to an attorney first</a></p>
${contentsOf(sections, guide.history.length > 0)}
<div class="text">
${parts.introHtml}
${sections.map(sectionPart)}
</div>
${attorneyHtml ? html`<section class="attorney" aria-labelledby="attorney">\n<h2 id="attorney">When to talk to an attorney</h2>\n${attorneyHtml}\n</section>` : attorneyHelp(guide.talkToAnAttorneyWhen)}
${related.length > 0 && relatedGuides(related)}
${guide.history.length > 0 && historyOf(guide.history)}
${sourceList(guide.sources, guide.updated)}
<p class="facts">${guide.disclaimer}</p>
<p class="facts mistaken"><a href="${contactAbout(guide.slug)}">Report a mistake in this guide</a></p>
<p class="printed">${parts.url}</p>
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>This guide as <a href="${parts.apiUrl}" type="application/json">JSON</a> or as <a href="${parts.markdownUrl}" type="text/markdown">Markdown</a>. From the API:</p>
<pre><code>curl -H 'Accept: text/markdown' ${parts.apiUrl}</code></pre>
</section>
</article>`
}

/** The contact form, about a section by its id, or about the beginning of a guide by its slug. */
const contactAbout = (id: string) => `/contact?passage=${encodeURIComponent(id)}`

const contentsOf = (
  sections: readonly SectionOnPage[],
  hasHistory: boolean,
) => html`<nav class="contents" aria-labelledby="contents">
<details>
<summary><h2 id="contents">On this page</h2></summary>
<ul>
${sections.map(({ key, heading }) => html`<li><a href="#${key}">${keepForms(heading)}</a></li>\n`)}<li><a href="#attorney">When to talk to an attorney</a></li>
${hasHistory && html`<li><a href="#history">Changes to this guide</a></li>\n`}<li><a href="#sources">Sources</a></li>
</ul>
</details>
</nav>`

const sectionPart = ({
  id,
  key,
  heading,
  html: text,
}: SectionOnPage) => html`<h2 id="${key}">${keepForms(heading)}</h2>
${text}
<p class="facts mistaken"><a href="${contactAbout(id)}" aria-label="Report a mistake in “${heading}”">Report a mistake</a></p>
`

const reviewedLine = (reviewed: string | null) =>
  reviewed === null
    ? html`<strong>Not yet reviewed by an attorney.</strong>`
    : html`<strong>Reviewed on ${calendarDay(reviewed)}.</strong>`

/** The days of the newest and the oldest copy of a source, with a link to all of them. */
function lastReadLine(sources: readonly SourceOnPage[]): Html {
  const days = sources.map(({ checked }) => checked).toSorted()
  const [oldest = '', newest = oldest] = [days[0], days.at(-1)]
  const older = oldest !== newest && html`, the oldest as of ${calendarDay(oldest)}`
  return html`<a href="#sources">${sourceCount(sources.length)}</a> as of ${calendarDay(newest)}${older}.`
}

/** Says how much of a guide is stale, for people. */
export function staleNotice({
  statements,
  staleStatements,
}: {
  statements: number
  staleStatements: number
}): string {
  const some = staleStatements === 1 ? 'One statement' : `${staleStatements} of ${statements} statements`
  const each = staleStatements === 1 ? 'It says' : 'Each says'
  return `${some} below may be out of date: we last read the official source too long ago. ${each} so. Look at the official page before you act.`
}

/** Who acted on a sentence that was wrong has to see at the top that it was. */
function correctedLine(history: GuideOnPage['history']): Html | false {
  const corrected = history.find(({ text }) => text.startsWith('Corrected: '))
  return corrected !== undefined && html`<a href="#history">Corrected ${calendarDay(corrected.date)}</a>. `
}

function historyOf(history: GuideOnPage['history']): Html {
  return html`<section aria-labelledby="history">
<h2 id="history">Changes to this guide</h2>
<ul>
${history.map(({ date, version, text }) => html`<li>${calendarDay(date)}, version ${version}. ${keepForms(text)}</li>\n`)}</ul>
</section>`
}

function relatedGuides(related: GuideParts['related']): Html {
  return html`<section class="related" aria-labelledby="related">
<h2 id="related">Related guides</h2>
<ul>
${related.map(({ slug, title }) => html`<li><a href="/guides/${slug}">${keepForms(title)}</a></li>\n`)}</ul>
</section>`
}

const sourceCount = (count: number) => (count === 1 ? 'Official source' : `${count} official sources`)

function sourceList(sources: readonly SourceOnPage[], updated: string): Html {
  return html`<section aria-labelledby="sources">
<h2 id="sources">Sources</h2>
<ol class="sources">
${sources.map(
  (source, index) =>
    html`<li id="source-${index + 1}"><a href="${source.url}">${keepForms(source.title)}</a>. ${source.agency}. ${lastRead(source)}</li>\n`,
)}</ol>
<p class="facts">This guide was updated on ${calendarDay(updated)}.</p>
</section>`
}

function lastRead({ kind, checked, stale }: SourceOnPage): Html {
  const what = kind === 'statute' || kind === 'regulation' ? 'rule' : 'page'
  return html`We last read this ${what} as of ${calendarDay(checked)}${stale && ', too long ago'}.`
}

/** The numbered mark of a paragraph, which shows the source in its place. @param number counts from 1 */
export const sourceMark = (number: number, source: SourceOnPage): Html =>
  html`<details class="source"><summary>[${number}]</summary><small><a href="${source.url}">${keepForms(source.title)}</a>. ${lastRead(source)}</small></details>`
