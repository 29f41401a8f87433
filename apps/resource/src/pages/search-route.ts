import { defineRoute, type Route } from '@plainpath/http'
import { MAX_SEARCH_CHARACTERS } from '@plainpath/metadata'
import { LEAVE_HEADERS, renderQuickExit, renderSearchPage } from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { FormText, type GuidePagesDeps, PAGE, renderPageText } from './page.ts'

const MAX_RESULTS = 10
const MAX_SIMILAR_WORDS = 5

/** Accepts any text, including an empty one. A long text is truncated. */
const SearchQuery = z.object({
  q: FormText.transform((text) => text.trim().slice(0, MAX_SEARCH_CHARACTERS)),
})

/** Creates the route for the search page. A search can reveal much about a person, so browsers and caches must not store the page. */
export function createSearchRoute({ guides, urls }: GuidePagesDeps): Route {
  return defineRoute({
    ...PAGE,
    path: '/search',
    operationId: 'searchPage',
    summary: 'Guides that answer a question',
    limits: LIMITS.reads,
    request: { query: SearchQuery },
    handle({ query: { q } }) {
      const catalog = guides.current()
      const results = q === '' ? [] : catalog.search(q, MAX_RESULTS)
      const body = renderSearchPage({
        text: q,
        results: results.map(({ guide, ...match }) => ({ ...guide, ...match })),
        similarWords: results.length === 0 ? catalog.suggestWords(q, MAX_SIMILAR_WORDS) : [],
        guides: catalog.list().guides,
      })
      const page = {
        title: 'Search',
        path: '/search',
        noindex: true,
        quickExit: renderQuickExit(),
        search: q,
        body,
      }
      return { status: 200, headers: LEAVE_HEADERS, text: renderPageText(urls, page) }
    },
  })
}
