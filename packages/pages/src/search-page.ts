import { renderGuideList } from './guides-page.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { type GuideInList, listOftenNeededGuides } from './situations.ts'

interface SearchPage {
  /** The search terms; empty at first. */
  readonly text: string
  /** Best first. */
  readonly results: readonly SearchResult[]
  /** Words of the guides, and synonyms, that are spelled like a search term. Shown only if the search finds nothing. */
  readonly similarWords: readonly string[]
  /** All guides. The page suggests some of them if the search finds nothing. */
  readonly guides: readonly GuideInList[]
}

interface SearchResult extends GuideInList {
  /** Text of the guide, from the sentence with the most search terms; empty if the guide has no text. */
  readonly snippet: string
  /** The section from which the snippet is taken; undefined without a snippet, and for text before the first heading. */
  readonly section: { readonly heading: string; readonly anchor: string } | undefined
}

/** Renders the body of `/search`. */
export function renderSearchPage({ text, results, similarWords, guides }: SearchPage): Html {
  if (text === '') return html`<h1>Search</h1>\n${renderSearchForm()}\n${renderOtherWays(guides)}`
  return results.length > 0
    ? renderResultsPage(text, results)
    : renderNoResultsPage(text, { similarWords, guides })
}

/** Renders the search form for the main part of a page. The header has a smaller one. */
export const renderSearchForm = (text = ''): Html => html`<form class="form" action="/search" method="get">
<label for="search">Search the guides</label>
<p class="facts" id="search-hint">Some words in English, or the number of a form, such as ${keepTogether('I-90')}.</p>
<input id="search" name="q" type="search" maxlength="200" autocomplete="off" aria-describedby="search-hint" value="${text}">
<button type="submit">Search</button>
</form>`

const renderResultsPage = (
  text: string,
  results: SearchPage['results'],
) => html`<h1>${results.length === 1 ? 'One guide' : `${results.length} guides`} for “${text}”</h1>
<p class="facts">Best match first.</p>
<ol class="guides results">
${results.map(
  ({ slug, title, summary, snippet, section }) =>
    html`<li><a href="/guides/${slug}">${keepTogether(title)}</a>\n<p>${keepTogether(summary)}</p>\n${snippet !== '' && html`<p class="snippet">${section && html`<a href="/guides/${slug}#${section.anchor}">${keepTogether(section.heading)}</a><br>`}${keepTogether(snippet)}</p>\n`}</li>\n`,
)}</ol>
${renderSearchForm(text)}
<p>Not what you need? <a href="/ask">Ask in your own words</a>, or look at <a href="/guides">all guides</a>.</p>`

const renderNoResultsPage = (
  text: string,
  { similarWords, guides }: Pick<SearchPage, 'similarWords' | 'guides'>,
) => html`<h1>No guide found for “${text}”</h1>
${similarWords.length > 0 && html`<p>Did you mean ${similarWords.map(renderWordLink)}?</p>`}
${renderSearchForm(text)}
${renderOtherWays(guides)}`

const renderWordLink = (word: string, index: number, words: readonly string[]) =>
  html`${index > 0 && (index === words.length - 1 ? ' or ' : ', ')}<a href="${`/search?q=${encodeURIComponent(word)}`}">${word}</a>`

/** Renders other ways to find information, for a page without results. */
export const renderOtherWays = (guides: readonly GuideInList[]): Html => {
  const suggestions = listOftenNeededGuides(guides)
  return html`<h2>Other ways to find it</h2>
<ul>
<li>If it is urgent, <a href="/get-help">get help</a>: phone lines, and how to find a lawyer.</li>
<li><a href="/ask">Ask in your own words</a>.</li>
<li>Look at <a href="/guides">all guides</a>, by situation.</li>
<li><a href="/contact">Write to us</a>.</li>
</ul>
${suggestions.length > 0 && html`<h2>Guides that many people need</h2>\n${renderGuideList(suggestions)}`}`
}
