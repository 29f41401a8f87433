import { defineRoute, prepareOnce, type Route } from '@plainpath/http'
import { renderGuidesPage } from '@plainpath/pages'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { type GuidePagesDeps, PUBLIC_PAGE, preparePage } from './page.ts'

/** Creates the route for the page that lists all guides by situation. */
export function createGuidesPageRoute({ guides, urls }: GuidePagesDeps): Route {
  const preparePageOnce = prepareOnce<GuideCatalog>((catalog) =>
    preparePage(urls, {
      title: 'Guides',
      description: 'All plain-English guides to U.S. immigration, by situation.',
      path: '/guides',
      navigationEntry: 'guides',
      body: renderGuidesPage(catalog.list().guides),
    }),
  )
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/guides',
    operationId: 'guidesPage',
    summary: 'All guides, by situation',
    handle: () => ({ status: 200, prepared: preparePageOnce(guides.current()) }),
  })
}
