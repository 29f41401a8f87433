import { defineRoute, PROBLEM_CODES, problemKind, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { problemPage, STYLESHEET } from '@plainpath/pages'
import { z } from 'zod'
import type { AnswerService } from '../answers/answer-service.ts'
import type { GuideForms } from '../guides/guide-answers.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import { askPageRoutes } from './ask-page-routes.ts'
import { guidePageRoutes } from './guide-page-routes.ts'
import { homeRoutes } from './home-routes.ts'
import { PUBLIC_PAGE, pageText } from './page.ts'
import { policyPageRoutes } from './policy-page-routes.ts'
import { referenceRoute } from './reference-route.ts'
import { searchRoute } from './search-route.ts'
import { waitlistPageRoutes } from './waitlist-page-routes.ts'

/** What people see in a browser. */
export function pageRoutes(deps: {
  guides: { current(): GuideCatalog }
  forms: GuideForms
  joinWaitlist: JoinWaitlist
  answers: AnswerService
  urls: ServiceUrls
}): Route[] {
  const { urls } = deps
  const problem = defineRoute({
    ...PUBLIC_PAGE,
    path: '/problems/{code}',
    operationId: 'problemPage',
    summary: 'What an error means and what to do next',
    request: { params: z.object({ code: z.enum(PROBLEM_CODES) }) },
    handle({ params: { code } }) {
      const kind = problemKind(code)
      const body = problemPage({ origin: urls.origin, code, ...kind })
      return { status: 200, text: pageText(urls, { title: kind.title, path: `/problems/${code}`, body }) }
    },
  })

  const stylesheet = defineRoute({
    ...PUBLIC_PAGE,
    path: STYLESHEET.path,
    operationId: 'stylesheet',
    summary: 'The stylesheet of every page',
    handle: () => ({ status: 200, text: { type: STYLESHEET.contentType, content: STYLESHEET.body } }),
  })

  return [
    ...homeRoutes(deps),
    ...askPageRoutes(deps),
    ...waitlistPageRoutes(deps),
    ...guidePageRoutes(deps),
    ...policyPageRoutes(deps),
    searchRoute(deps),
    referenceRoute(deps),
    problem,
    stylesheet,
  ]
}
