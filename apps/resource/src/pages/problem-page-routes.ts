import { defineRoute, PROBLEM_CODES, problemKind, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { problemPage, problemsPage } from '@plainpath/pages'
import { z } from 'zod'
import { PUBLIC_PAGE, pageText, preparePage } from './page.ts'

const DEVELOPERS = { href: '/docs', text: 'For developers' }
const ERRORS = { href: '/problems', text: 'Errors' }

/** The list of errors, and the page that the `type` of each names. */
export function problemPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const listed = preparePage(urls, {
    title: 'Errors',
    description: 'Every error of the Plainpath API by its HTTP status, with a page on what to do next.',
    path: '/problems',
    place: 'developers',
    under: [DEVELOPERS],
    body: problemsPage(PROBLEM_CODES.map((code) => ({ code, ...problemKind(code) }))),
  })
  const list = defineRoute({
    ...PUBLIC_PAGE,
    path: '/problems',
    operationId: 'problemsPage',
    summary: 'Every error, by its HTTP status',
    handle: () => ({ status: 200, prepared: listed }),
  })
  const problem = defineRoute({
    ...PUBLIC_PAGE,
    path: '/problems/{code}',
    operationId: 'problemPage',
    summary: 'What an error means and what to do next',
    request: { params: z.object({ code: z.enum(PROBLEM_CODES) }) },
    handle({ params: { code } }) {
      const kind = problemKind(code)
      const title = `API error: ${kind.title}`
      const text = pageText(urls, {
        title,
        path: `/problems/${code}`,
        place: 'developers',
        under: [DEVELOPERS, ERRORS],
        body: problemPage({ origin: urls.origin, code, ...kind, title }),
      })
      return { status: 200, text }
    },
  })
  return [list, problem]
}
