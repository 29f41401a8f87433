import { type Html, type HtmlValue, html } from './html.ts'

interface ProblemPage {
  /** The site root, without a slash at its end. */
  readonly origin: string
  /** Kebab-case, as in the member `code` of the answer. */
  readonly code: string
  readonly title: string
  /** The HTTP status. */
  readonly status: number
  readonly meaning: HtmlValue
  readonly remedy: HtmlValue
}

/** The body of `/problems/{code}`, the page that the `type` of a problem names (RFC 9457 §3.1.1). */
export function problemPage({ origin, code, title, status, meaning, remedy }: ProblemPage): Html {
  return html`<article>
<p class="facts">Error <code>${code}</code>, HTTP status ${status}</p>
<h1>${title}</h1>
<h2>What it means</h2>
<p>${meaning}</p>
<h2>What to do next</h2>
<p>${remedy}</p>
<section class="machines" aria-labelledby="machines">
<h2 id="machines">For machines</h2>
<p>An answer with this error names this page as its <code>type</code>:</p>
<pre><code>${origin}/problems/${code}</code></pre>
</section>
</article>`
}
