import { attorneyHelp } from './attorney-help.ts'
import { type Html, html } from './html.ts'
import { calendarDay } from './long-date.ts'

/** What the page of a guide shows. Days are `YYYY-MM-DD`. */
export interface GuideOnPage {
  readonly title: string
  readonly summary: string
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
  readonly checked: string
  /** True when it was checked too long ago. */
  readonly stale: boolean
}

/**
 * The body of a guide's page, marked up as a schema.org WebPage by attributes, since the pages have no scripts.
 *
 * @param page.bodyHtml the guide's text, with headings from `h2` down. It may point at the n-th source as `#source-n`.
 * @param page.attorneyHtml what the guide itself says on when to talk to an attorney, with its heading; the plain
 *   list of reasons when absent.
 * @param page.apiUrl where the guide is JSON, or Markdown on request.
 * @param page.markdownUrl where it is Markdown for whoever asks.
 */
export function guidePage(
  guide: GuideOnPage,
  page: { bodyHtml: Html; attorneyHtml?: Html; apiUrl: string; markdownUrl: string },
): Html {
  return html`<article class="guide" itemscope itemtype="https://schema.org/WebPage">
<h1>${guide.title}</h1>
<p class="lead">${guide.summary}</p>
<meta itemprop="name" content="${guide.title}">
<meta itemprop="dateModified" content="${guide.updated}">
${guide.reviewed !== null && html`<meta itemprop="lastReviewed" content="${guide.reviewed}">`}
<p class="facts">${reviewedLine(guide.reviewed)} Updated ${calendarDay(guide.updated)}. ${correctedLine(guide.history)}<a href="#sources">${sourceCount(guide.sources.length)}</a>.</p>
${guide.staleStatements > 0 && html`<p class="notice">${staleNotice(guide)}</p>`}
<div class="text">
${page.bodyHtml}
</div>
${page.attorneyHtml ? html`<section class="attorney">\n${page.attorneyHtml}\n</section>` : attorneyHelp(guide.talkToAnAttorneyWhen)}
${guide.history.length > 0 && historyOf(guide.history)}
${sourceList(guide.sources)}
<p class="facts">${guide.disclaimer}</p>
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>This guide as <a href="${page.apiUrl}" type="application/json">JSON</a> or as <a href="${page.markdownUrl}" type="text/markdown">Markdown</a>. From the API:</p>
<pre><code>curl -H 'Accept: text/markdown' ${page.apiUrl}</code></pre>
</section>
</article>`
}

const reviewedLine = (reviewed: string | null) =>
  reviewed === null
    ? html`<strong>Not yet reviewed by an attorney.</strong>`
    : html`<strong>Reviewed on ${calendarDay(reviewed)}.</strong>`

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
${history.map(({ date, version, text }) => html`<li>${calendarDay(date)}, version ${version}. ${text}</li>\n`)}</ul>
</section>`
}

const sourceCount = (count: number) => (count === 1 ? 'One official source' : `${count} official sources`)

function sourceList(sources: readonly SourceOnPage[]): Html {
  return html`<section aria-labelledby="sources">
<h2 id="sources">Sources</h2>
<ol class="sources">
${sources.map(
  ({ title, url, agency, checked, stale }, index) =>
    html`<li id="source-${index + 1}"><a href="${url}">${title}</a>. ${agency}. Checked ${calendarDay(checked)}${stale && ', too long ago'}.</li>\n`,
)}</ol>
</section>`
}
