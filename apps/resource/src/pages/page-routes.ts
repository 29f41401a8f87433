import { defineRoute, prepareResponse, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { IMAGES, STYLESHEET } from '@plainpath/pages'
import type { AnswerService } from '../answers/answer-service.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { GuideLister } from '../guides/guide-listing.ts'
import type { GuideResponses } from '../guides/guide-responses.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import { askPageRoutes } from './ask-page-routes.ts'
import { connectPageRoute } from './connect-page-route.ts'
import { guidePageRoutes } from './guide-page-routes.ts'
import { guidesPageRoute } from './guides-page-route.ts'
import { helpPageRoutes } from './help-page-routes.ts'
import { homeRoutes } from './home-routes.ts'
import { PUBLIC_PAGE } from './page.ts'
import { policyPageRoutes } from './policy-page-routes.ts'
import { problemPageRoutes } from './problem-page-routes.ts'
import { referenceRoute } from './reference-route.ts'
import { scriptRoutes } from './script-routes.ts'
import { searchRoute } from './search-route.ts'
import { waitlistPageRoutes } from './waitlist-page-routes.ts'

/** What people see in a browser. */
export function pageRoutes(deps: {
  guides: { current(): GuideCatalog }
  lister: GuideLister
  forms: GuideResponses
  joinWaitlist: JoinWaitlist
  answers: AnswerService
  urls: ServiceUrls
}): Route[] {
  const stylesheet = defineRoute({
    ...PUBLIC_PAGE,
    path: STYLESHEET.path,
    operationId: 'stylesheet',
    summary: 'The stylesheet of every page',
    handle: () => ({ status: 200, text: { type: STYLESHEET.contentType, content: STYLESHEET.body } }),
  })

  const images = IMAGES.map(({ path, contentType, bytes }) => {
    const prepared = prepareResponse(contentType, bytes)
    return defineRoute({
      ...PUBLIC_PAGE,
      path,
      operationId: `image${path.replaceAll(/\W/g, '_')}`,
      summary: 'The icon, or the image that a message with a link shows',
      handle: () => ({ status: 200, prepared }),
    })
  })

  return [
    ...homeRoutes(deps),
    ...askPageRoutes(deps),
    ...waitlistPageRoutes(deps),
    ...guidePageRoutes(deps),
    ...policyPageRoutes(deps),
    guidesPageRoute(deps),
    ...helpPageRoutes(deps),
    connectPageRoute(deps),
    searchRoute(deps),
    referenceRoute(deps),
    ...problemPageRoutes(deps),
    stylesheet,
    ...images,
    ...scriptRoutes(),
  ]
}
