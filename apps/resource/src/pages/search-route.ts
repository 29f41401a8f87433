import { defineRoute, type Route } from '@plainpath/http'
import { LONGEST_SEARCH } from '@plainpath/metadata'
import { searchPage } from '@plainpath/pages'
import { z } from 'zod'
import { FormText, type GuidePagesDeps, PAGE, pageText } from './page.ts'

const MOST_RESULTS = 10
const MOST_NEAR_WORDS = 5

/** A person's box takes any text: what is too long is cut, and nothing is no mistake. */
const SearchQuery = z.object({
  q: FormText.transform((text) => text.trim().slice(0, LONGEST_SEARCH)),
})

/** The page of results. What somebody looks for may say much of them, so nobody keeps it. */
export function searchRoute({ guides, urls }: GuidePagesDeps): Route {
  return defineRoute({
    ...PAGE,
    path: '/search',
    operationId: 'searchPage',
    summary: 'Guides that answer a question',
    request: { query: SearchQuery },
    handle({ query: { q } }) {
      const catalog = guides.current()
      const results = q === '' ? [] : catalog.search(q, MOST_RESULTS)
      const body = searchPage({
        text: q,
        results: results.map(({ guide, ...matched }) => ({ ...guide, ...matched })),
        near: results.length === 0 ? catalog.nearWords(q, MOST_NEAR_WORDS) : [],
        guides: catalog.list().guides,
      })
      const page = { title: 'Search', path: '/search', noindex: true, search: q, body }
      return { status: 200, text: pageText(urls, page) }
    },
  })
}
