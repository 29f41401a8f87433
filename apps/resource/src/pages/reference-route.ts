import { defineRoute, prepareAnswer, preparedOnce, type Route } from '@plainpath/http'
import { openApiDescription } from '@plainpath/metadata'
import { referencePage, renderPage } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { ApiDocument, apiReference } from './api-reference.ts'
import { type GuidePagesDeps, PAGE_TYPE, PUBLIC_PAGE } from './page.ts'

/** The API reference, made from the very description at `/openapi.json`. */
export function referenceRoute({ guides, urls }: GuidePagesDeps): Route {
  const described = openApiDescription({ origin: urls.origin })
  const document = ApiDocument.parse(JSON.parse(JSON.stringify(described)))
  const asPage = preparedOnce<GuideCatalog>((catalog) => {
    const slug = catalog.list().guides[0]?.slug ?? 'work-permit'
    const body = referencePage(apiReference(document, slug))
    const title = 'API reference'
    return prepareAnswer(PAGE_TYPE, renderPage({ origin: urls.origin, path: '/docs', title, body }))
  })
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/docs',
    operationId: 'referencePage',
    summary: 'The API reference',
    handle: () => ({ status: 200, prepared: asPage(guides.current()) }),
  })
}
