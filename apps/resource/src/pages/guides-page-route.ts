import { defineRoute, prepareOnce, type Route } from '@plainpath/http'
import { guidesPage } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'

/** Every guide by situation, for people; programs read `/api/guides`. */
export function guidesPageRoute({ guides, urls }: GuidePagesDeps): Route {
  const prepared = prepareOnce<GuideCatalog>((catalog) =>
    preparePage(urls, {
      title: 'Guides',
      description: 'All plain-English guides to U.S. immigration, by situation.',
      path: '/guides',
      place: 'guides',
      body: guidesPage(catalog.list().guides),
    }),
  )
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides',
    operationId: 'guidesPage',
    summary: 'All guides, by situation',
    handle: () => ({ status: 200, prepared: prepared(guides.current()) }),
  })
}
