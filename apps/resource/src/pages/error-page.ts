import { type ProblemDocument, problemKind } from '@plainpath/http'
import { html, notFoundPage, problemPage, renderPage } from '@plainpath/pages'
import { z } from 'zod'
import type { GuideCatalog } from '../guides/guide-catalog.ts'

/** The member of a problem that names what took the place of what was asked for. */
const Successor = z.object({ url: z.string() })

/** What a person sees instead of a problem document. */
export function errorPage(
  { origin, guides }: { origin: string; guides: { current(): GuideCatalog } },
  problem: ProblemDocument,
): string {
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = problemKind(code)
  const stated = detail === `${meaning} ${remedy}` ? meaning : detail
  const successor = Successor.safeParse(problem['successor']).data
  const isMissing = code === 'not-found'
  const page = isMissing
    ? notFoundPage({ meaning: stated === meaning ? NO_PAGE : stated, guides: guides.current().list().guides })
    : problemPage({ origin, code, title, status, meaning: stated, remedy })
  const body = html`${page}
${successor && html`<p><a href="${successor.url}">Read the guide that took its place</a></p>`}
<p class="facts">If you <a href="/contact">write to us</a> about this page, give us this number: <code>${problem.request_id}</code></p>`
  return renderPage({ title: isMissing ? 'Page not found' : title, origin, path, body, noindex: true })
}

const NO_PAGE = 'There is no page at this address.'
