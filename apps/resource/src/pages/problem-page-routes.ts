import { defineRoute, getProblemKind, PROBLEM_CODES, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { renderProblemPage, renderProblemsPage } from '@plainpath/pages'
import { z } from 'zod'
import { PUBLIC_PAGE, preparePage, renderPageText } from './page.ts'

const DEVELOPERS_LINK = { href: '/docs', text: 'For developers' }
const ERRORS_LINK = { href: '/problems', text: 'Errors' }

/** Creates the routes for the error list, and for the page that each error's `type` refers to. */
export function createProblemPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const preparedList = preparePage(urls, {
    title: 'Errors',
    description: 'Every error of the Plainpath API by its HTTP status, with a page on what to do next.',
    path: '/problems',
    navigationEntry: 'developers',
    breadcrumbs: [DEVELOPERS_LINK],
    body: renderProblemsPage(PROBLEM_CODES.map((code) => ({ code, ...getProblemKind(code) }))),
  })
  const listRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/problems',
    operationId: 'problemsPage',
    summary: 'Every error, by its HTTP status',
    handle: () => ({ status: 200, prepared: preparedList }),
  })
  const problemRoute = defineRoute({
    ...PUBLIC_PAGE,
    path: '/problems/{code}',
    operationId: 'problemPage',
    summary: 'What an error means and what to do next',
    request: { params: z.object({ code: z.enum(PROBLEM_CODES) }) },
    handle({ params: { code } }) {
      const kind = getProblemKind(code)
      const title = `API error: ${kind.title}`
      const text = renderPageText(urls, {
        title,
        path: `/problems/${code}`,
        navigationEntry: 'developers',
        breadcrumbs: [DEVELOPERS_LINK, ERRORS_LINK],
        body: renderProblemPage({ origin: urls.origin, code, ...kind, title }),
      })
      return { status: 200, text }
    },
  })
  return [listRoute, problemRoute]
}
