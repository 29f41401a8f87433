import type { SourceKind } from '@plainpath/domain'
import { renderAttorneyHelp } from './attorney-help.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { renderCalendarDay } from './long-date.ts'

/** The content of a guide page. Days are `YYYY-MM-DD`. */
export interface GuideOnPage {
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** Describes the people for whom the guide is meant. */
  readonly audience: string
  readonly sources: readonly SourceOnPage[]
  readonly updated: string
  /** The review day; null until a named person has reviewed the guide. */
  readonly reviewed: string | null
  readonly statements: number
  /** The number of statements whose sources were all checked too long ago. */
  readonly staleStatements: number
  /** The changes, newest first. */
  readonly history: readonly { readonly date: string; readonly version: number; readonly text: string }[]
  readonly disclaimer: string
  readonly talkToAnAttorneyWhen: readonly string[]
}

interface SourceOnPage {
  readonly title: string
  readonly url: string
  /** The name of the agency that publishes the source. */
  readonly agency: string
  readonly kind: SourceKind
  /** The date of the copy of the source that we read, which may be earlier than the day on which we read it. */
  readonly checked: string
  /** True if we checked the source too long ago. */
  readonly stale: boolean
}

/** A guide section under a level-2 heading. */
interface SectionOnPage {
  /** `slug#key`, for mistake reports. */
  readonly id: string
  /** The heading's `id`. */
  readonly key: string
  readonly heading: string
  /** The text, with headings from `h3` down. */
  readonly html: Html
}

interface GuideParts {
  /** The text before the first heading. */
  readonly introHtml?: Html | undefined
  readonly sections: readonly SectionOnPage[]
  /** The guide's own text on when to talk to an attorney. Without it, the page shows the plain list of reasons. */
  readonly attorneyHtml?: Html | undefined
  readonly related: readonly { readonly slug: string; readonly title: string }[]
  /** True if the page begins with the emergency number. */
  readonly hasEmergencyNumber?: boolean
  /** The page's address, shown only on paper. */
  readonly url: string
  /** The guide's address in the API, which serves JSON, or Markdown on request. */
  readonly apiUrl: string
  /** The guide's Markdown address, which ignores `Accept`. */
  readonly markdownUrl: string
}

/** Renders the body of a guide page, marked up as a schema.org WebPage. */
export function renderGuidePage(guide: GuideOnPage, parts: GuideParts): Html {
  const { sections, attorneyHtml, related } = parts
  return html`<article class="guide" itemscope itemtype="https://schema.org/WebPage">
<h1>${keepTogether(guide.title)}</h1>
${parts.hasEmergencyNumber && html`<p class="urgent"><strong>In danger now?</strong> Call <a class="phone" href="tel:911">911</a>.</p>`}
<p class="lead">${keepTogether(guide.summary)}</p>
<meta itemprop="name" content="${guide.title}">
<meta itemprop="dateModified" content="${guide.updated}">
${guide.reviewed !== null && html`<meta itemprop="lastReviewed" content="${guide.reviewed}">`}
<p><strong>Who this is for:</strong> ${keepTogether(guide.audience)}</p>
<p>${renderReviewedLine(guide.reviewed)} ${renderLastReadLine(guide.sources)} ${renderCorrectedLine(guide.history)}</p>
${guide.staleStatements > 0 && html`<p class="notice">${formatStaleNotice(guide)}</p>`}
<p class="before"><a href="#attorney">When to talk to an attorney first</a></p>
${renderTableOfContents(sections, guide.history.length > 0)}
<div class="text">
${parts.introHtml}
${sections.map(renderSection)}
</div>
${attorneyHtml ? html`<section class="attorney" aria-labelledby="attorney">\n<h2 id="attorney">When to talk to an attorney</h2>\n${attorneyHtml}\n</section>` : renderAttorneyHelp(guide.talkToAnAttorneyWhen)}
${related.length > 0 && renderRelatedGuides(related)}
${guide.history.length > 0 && renderHistorySection(guide.history)}
${renderSourceList(guide.sources, guide.updated)}
<p class="facts">${guide.disclaimer}</p>
<p class="facts mistaken"><a href="${formatContactLink(guide.slug)}">Report a mistake in this guide</a></p>
<p class="printed">${parts.url}</p>
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>This guide as <a href="${parts.apiUrl}" type="application/json">JSON</a> or as <a href="${parts.markdownUrl}" type="text/markdown">Markdown</a>. From the API:</p>
<pre><code>curl -H 'Accept: text/markdown' ${parts.apiUrl}</code></pre>
</section>
</article>`
}

/** Formats the address of the contact form for a mistake in a section (`id` is its id) or in a guide (`id` is its slug). */
const formatContactLink = (id: string) => `/contact?passage=${encodeURIComponent(id)}`

const renderTableOfContents = (
  sections: readonly SectionOnPage[],
  hasHistory: boolean,
) => html`<nav class="contents" aria-labelledby="contents">
<details>
<summary><h2 id="contents">On this page</h2></summary>
<ul>
${sections.map(({ key, heading }) => html`<li><a href="#${key}">${keepTogether(heading)}</a></li>\n`)}<li><a href="#attorney">When to talk to an attorney</a></li>
${hasHistory && html`<li><a href="#history">Changes to this guide</a></li>\n`}<li><a href="#sources">Sources</a></li>
</ul>
</details>
</nav>`

const renderSection = ({
  id,
  key,
  heading,
  html: text,
}: SectionOnPage) => html`<h2 id="${key}">${keepTogether(heading)}</h2>
${text}
<p class="facts mistaken"><a href="${formatContactLink(id)}" aria-label="Report a mistake in “${heading}”">Report a mistake</a></p>
`

const renderReviewedLine = (reviewed: string | null) =>
  reviewed === null
    ? html`<strong>Not yet reviewed by an attorney.</strong>`
    : html`<strong>Reviewed on ${renderCalendarDay(reviewed)}.</strong>`

/** Renders the days of the newest and, if it differs, the oldest copy of a source that was read, with a link to the source list. */
function renderLastReadLine(sources: readonly SourceOnPage[]): Html {
  const days = sources.map(({ checked }) => checked).toSorted()
  const [oldest = '', newest = oldest] = [days[0], days.at(-1)]
  const oldestText = oldest !== newest && html`, and the oldest as of ${renderCalendarDay(oldest)}`
  return html`We last read <a href="#sources">${describeSourceCount(sources.length)}</a> as of ${renderCalendarDay(newest)}${oldestText}.`
}

/** Formats the notice that says how many of a guide's statements are stale. */
export function formatStaleNotice({
  statements,
  staleStatements,
}: {
  statements: number
  staleStatements: number
}): string {
  const subject = staleStatements === 1 ? 'One statement' : `${staleStatements} of ${statements} statements`
  const pronoun = staleStatements === 1 ? 'It' : 'Each'
  return `${subject} below may be out of date: we last read the official source too long ago. ${pronoun} says so. Look at the official page before you act.`
}

/** Renders the date of the last correction, if there is one, for people who may have acted on the wrong statement. */
function renderCorrectedLine(history: GuideOnPage['history']): Html | false {
  const correction = history.find(({ text }) => text.startsWith('Corrected: '))
  return (
    correction !== undefined &&
    html`<a href="#history">Corrected on ${renderCalendarDay(correction.date)}</a>. `
  )
}

function renderHistorySection(history: GuideOnPage['history']): Html {
  return html`<section aria-labelledby="history">
<h2 id="history">Changes to this guide</h2>
<ul>
${history.map(({ date, version, text }) => html`<li>${renderCalendarDay(date)}, version ${version}. ${keepTogether(text)}</li>\n`)}</ul>
</section>`
}

function renderRelatedGuides(related: GuideParts['related']): Html {
  return html`<section class="related" aria-labelledby="related">
<h2 id="related">Related guides</h2>
<ul>
${related.map(({ slug, title }) => html`<li><a href="/guides/${slug}">${keepTogether(title)}</a></li>\n`)}</ul>
</section>`
}

const describeSourceCount = (count: number) =>
  count === 1 ? 'its official source' : `its ${count} official sources`

function renderSourceList(sources: readonly SourceOnPage[], updated: string): Html {
  return html`<section aria-labelledby="sources">
<h2 id="sources">Sources</h2>
<ol class="sources">
${sources.map(
  (source, index) =>
    html`<li id="source-${index + 1}"><a href="${source.url}">${keepTogether(source.title)}</a>. ${source.agency}. ${formatLastRead(source)}</li>\n`,
)}</ol>
<p class="facts">This guide was updated on ${renderCalendarDay(updated)}.</p>
</section>`
}

function formatLastRead({ kind, checked, stale }: SourceOnPage): Html {
  const noun = kind === 'statute' || kind === 'regulation' ? 'rule' : 'page'
  return html`We last read this ${noun} as of ${renderCalendarDay(checked)}${stale && ', too long ago'}.`
}

/**
 * Renders a numbered source mark. Opening it shows the source in place.
 *
 * @param number starts at 1
 */
export const renderSourceMark = (number: number, source: SourceOnPage): Html =>
  html`<details class="source"><summary>[${number}]</summary><small><a href="${source.url}">${keepTogether(source.title)}</a>. ${formatLastRead(source)}</small></details>`
