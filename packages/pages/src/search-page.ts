import { keepForms } from './form-numbers.ts'
import { guideList } from './guides-page.ts'
import { type Html, html } from './html.ts'
import { type GuideInList, oftenNeeded } from './situations.ts'

interface SearchPage {
  /** What was asked for; empty before anything was. */
  readonly text: string
  /** Best first. */
  readonly results: readonly SearchResult[]
  /** Words of the guides that are near those of the text. */
  readonly near: readonly string[]
  /** All guides, of which some are offered where nothing was found. */
  readonly guides: readonly GuideInList[]
}

interface SearchResult extends GuideInList {
  readonly snippet: string
  /** The section that the snippet is of. */
  readonly section: { readonly heading: string; readonly anchor: string } | undefined
}

/** The body of `/search`. */
export function searchPage({ text, ...found }: SearchPage): Html {
  if (text === '')
    return html`<h1>Search</h1>\n<p>Type some words, or the number of a form, into the search field at the top. In English.</p>\n${otherWays(found.guides)}`
  return found.results.length > 0 ? foundPage(text, found.results) : nothingFoundPage(text, found)
}

const foundPage = (
  text: string,
  results: SearchPage['results'],
) => html`<h1>${results.length === 1 ? 'One guide' : `${results.length} guides`} for “${text}”</h1>
<p class="facts">Best match first.</p>
<ol class="guides results">
${results.map(
  ({ slug, title, summary, snippet, section }) =>
    html`<li><a href="/guides/${slug}">${keepForms(title)}</a>\n<p>${keepForms(summary)}</p>\n${snippet !== '' && html`<p class="snippet"><span class="facts">From this guide:</span> ${section && html`<a href="/guides/${slug}#${section.anchor}">${section.heading}</a>: `}${keepForms(snippet)}</p>\n`}</li>\n`,
)}</ol>
<p>Not what you need? <a href="/ask">Ask in your own words</a>, or look at <a href="/guides">all guides</a>.</p>`

const nothingFoundPage = (
  text: string,
  { near, guides }: Pick<SearchPage, 'near' | 'guides'>,
) => html`<h1>No guide found for “${text}”</h1>
${near.length > 0 && html`<p>Did you mean ${near.map(nearLink)}?</p>`}
${otherWays(guides)}`

const nearLink = (word: string, index: number, words: readonly string[]) =>
  html`${index > 0 && (index === words.length - 1 ? ' or ' : ', ')}<a href="${`/search?q=${encodeURIComponent(word)}`}">${word}</a>`

/** Where to go from a page that has nothing of its own. */
export const otherWays = (guides: readonly GuideInList[]): Html => {
  const offered = oftenNeeded(guides)
  return html`<h2>Other ways to find it</h2>
<ul>
<li>Urgent? <a href="/get-help">Get help</a>: phone lines, and how to find a lawyer.</li>
<li><a href="/ask">Ask in your own words</a>.</li>
<li>Look at <a href="/guides">all guides</a>, by situation.</li>
<li><a href="/contact">Write to us</a>.</li>
</ul>
${offered.length > 0 && html`<h2>Guides that many people need</h2>\n${guideList(offered)}`}`
}
