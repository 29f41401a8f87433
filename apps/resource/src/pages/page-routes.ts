import { defineRoute, prepareResponse, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { IMAGES, STYLESHEET } from '@plainpath/pages'
import type { AnswerService } from '../answers/answer-service.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { GuideLister } from '../guides/guide-listing.ts'
import type { GuideResponses } from '../guides/guide-responses.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import { createAskPageRoutes } from './ask-page-routes.ts'
import { createConnectPageRoute } from './connect-page-route.ts'
import { createGuidePageRoutes } from './guide-page-routes.ts'
import { createGuidesPageRoute } from './guides-page-route.ts'
import { createHelpPageRoutes } from './help-page-routes.ts'
import { createHomeRoutes } from './home-routes.ts'
import { PUBLIC_PAGE } from './page.ts'
import { createPolicyAndChangelogRoutes } from './policy-and-changelog-routes.ts'
import { createProblemPageRoutes } from './problem-page-routes.ts'
import { createReferenceRoute } from './reference-route.ts'
import { createScriptRoutes } from './script-routes.ts'
import { createSearchRoute } from './search-route.ts'
import { createWaitlistPageRoutes } from './waitlist-page-routes.ts'

/** Creates the routes for images, scripts, the stylesheet, and all pages except `/contact` and the pages that mailed links open. */
export function createPageRoutes(deps: {
  guides: { current(): GuideCatalog }
  lister: GuideLister
  guideResponses: GuideResponses
  joinWaitlist: JoinWaitlist
  answers: AnswerService
  urls: ServiceUrls
}): Route[] {
  const stylesheetRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: STYLESHEET.path,
    operationId: 'stylesheet',
    summary: 'The stylesheet of all pages',
    handle: () => ({ status: 200, text: { type: STYLESHEET.contentType, content: STYLESHEET.body } }),
  })

  const imageRoutes = IMAGES.map(({ path, contentType, bytes }) => {
    const prepared = prepareResponse(contentType, bytes)
    return defineRoute({
      ...PUBLIC_PAGE,
      path,
      operationId: `image${path.replaceAll(/\W/g, '_')}`,
      summary: 'A site icon, or the image for link previews',
      handle: () => ({ status: 200, prepared }),
    })
  })

  return [
    ...createHomeRoutes(deps),
    ...createAskPageRoutes(deps),
    ...createWaitlistPageRoutes(deps),
    ...createGuidePageRoutes(deps),
    ...createPolicyAndChangelogRoutes(deps),
    createGuidesPageRoute(deps),
    ...createHelpPageRoutes(deps),
    createConnectPageRoute(deps),
    createSearchRoute(deps),
    createReferenceRoute(deps),
    ...createProblemPageRoutes(deps),
    stylesheetRoute,
    ...imageRoutes,
    ...createScriptRoutes(),
  ]
}
