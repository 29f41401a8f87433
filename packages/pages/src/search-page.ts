import { type Html, html } from './html.ts'

interface SearchPage {
  /** What was asked for; empty before anything was. */
  readonly text: string
  /** Best first. */
  readonly results: readonly {
    readonly slug: string
    readonly title: string
    readonly summary: string
    readonly snippet: string
  }[]
}

/** The longest text that the box takes, in characters. */
const LONGEST = 200

/** A form that leads to `/search?q=`. It keeps what was asked for. */
export function searchBox(text = ''): Html {
  return html`<form class="search" role="search" action="/search" method="get">
<label for="q">Search the guides</label>
<p class="facts" id="q-hint">Type some words, or the number of a form.</p>
<div class="field">
<input id="q" name="q" type="search" maxlength="${LONGEST}" autocomplete="off" aria-describedby="q-hint" value="${text}">
<button type="submit">Search</button>
</div>
</form>`
}

/** The body of `/search`. */
export function searchPage({ text, results }: SearchPage): Html {
  return html`<h1>Search</h1>
${searchBox(text)}
${text !== '' && found(results)}`
}

function found(results: SearchPage['results']): Html {
  if (results.length === 0) {
    return html`<h2>No guide found</h2>
<p>Use other words, or look at <a href="/">all guides</a>. If your case is hard, talk to an attorney.</p>`
  }
  return html`<h2>${results.length === 1 ? 'One guide' : `${results.length} guides`}, the best first</h2>
<ol class="guides results">
${results.map(
  ({ slug, title, summary, snippet }) =>
    html`<li><a href="/guides/${slug}">${title}</a>\n<p>${summary}</p>\n${snippet !== '' && html`<p class="facts">${snippet}</p>\n`}</li>\n`,
)}</ol>`
}
