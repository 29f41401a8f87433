import { type Html, type HtmlValue, html } from './html.ts'

interface ProblemPage {
  /** The origin of the site, such as `https://plainpath.example`. */
  readonly origin: string
  /** The kebab-case `code` of the error response. */
  readonly code: string
  readonly title: string
  /** The HTTP status. */
  readonly status: number
  readonly meaning: HtmlValue
  /** Left out if `meaning` says what to do. */
  readonly remedy?: HtmlValue
}

/**
 * Renders the body of an error page, and that of `/problems/{code}`, to which the `type` of a problem points (RFC 9457 §3.1.1).
 */
export function renderProblemPage({ origin, code, title, status, meaning, remedy }: ProblemPage): Html {
  return html`<article>
<h1>${title}</h1>
<p class="facts">Error <code>${code}</code>, HTTP status ${status}</p>
<h2>What it means</h2>
<p>${markTechnicalNames(meaning)}</p>
${remedy !== undefined && html`<h2>What to do next</h2>\n<p>${markTechnicalNames(remedy)}</p>`}
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>A response with this error has this URL as its <code>type</code>:</p>
<pre><code>${origin}/problems/${code}</code></pre>
</section>
</article>`
}

/**
 * Matches the names of members and headers that our texts about problems mention. Because the pattern has a group, `split` keeps
 * the names.
 */
const TECHNICAL_NAMES = /\b(detail|errors|Retry-After)\b/

/** Marks up technical names as code in plain text. Returns other values, such as markup, unchanged. */
const markTechnicalNames = (text: HtmlValue): HtmlValue =>
  typeof text === 'string'
    ? text
        .split(TECHNICAL_NAMES)
        .map((part) => (TECHNICAL_NAMES.test(part) ? html`<code>${part}</code>` : part))
    : text

/** Renders the body of `/problems`: every error, by its HTTP status. */
export function renderProblemsPage(
  problems: readonly Pick<ProblemPage, 'code' | 'title' | 'status'>[],
): Html {
  const statuses = [...new Set(problems.map(({ status }) => status))].toSorted((one, other) => one - other)
  return html`<div class="problems">
<h1>Errors</h1>
<p class="lead">Each error of the API has a <code>code</code> that stays the same, and a page that says what to do next.</p>
<p>Most errors are <code>application/problem+json</code> (RFC 9457). The OAuth endpoints send the JSON of RFC 6749, with a <code>code</code> too. Use <code>code</code> in your program; the text can change. <a href="/auth/errors.md">The formats, and what an agent does next</a></p>
<table class="codes">
<thead><tr><th scope="col">Status</th> <th scope="col">Code</th> <th scope="col">Meaning</th></tr></thead>
${statuses.map((status) => renderStatusRows(problems.filter((problem) => problem.status === status)))}</table>
</div>`
}

/** Renders the errors of one status. The first row begins with the status. */
const renderStatusRows = (problems: readonly Pick<ProblemPage, 'code' | 'title' | 'status'>[]) => html`<tbody>
${problems.map(({ code, title, status }, index) => html`<tr>${index === 0 && html`<th scope="rowgroup" rowspan="${problems.length}">${status}</th> `}<td><a href="/problems/${code}"><code>${code}</code></a></td> <td>${title}</td></tr>\n`)}</tbody>
`
