import { explainToPerson, getProblemKind, type ProblemDocument } from '@plainpath/http'
import { html, renderNotFoundPage, renderPage, renderProblemPage } from '@plainpath/pages'
import { z } from 'zod'
import type { GuideCatalog } from '../guides/guide-catalog.ts'

/** The `successor` member of a problem: the guide that replaced a retired guide. */
const Successor = z.object({ url: z.string() })

/** Renders the page that a person sees instead of a problem document. */
export function renderErrorPage(
  { origin, guides }: { origin: string; guides: { current(): GuideCatalog } },
  problem: ProblemDocument,
): string {
  const { code, title, status, instance: path } = problem
  const { meaning, remedy } = explainToPerson(problem)
  const successor = Successor.safeParse(problem['successor']).data
  const isNotFound = code === 'not-found'
  const page = isNotFound
    ? renderNotFoundPage({
        meaning: meaning === getProblemKind(code).meaning ? PAGE_NOT_FOUND_TEXT : meaning,
        guides: guides.current().list().guides,
      })
    : renderProblemPage({ origin, code, title, status, meaning, remedy })
  const body = html`${page}
${successor && html`<p><a href="${successor.url}">Read the guide that took its place</a></p>`}
<p class="facts">If you <a href="/contact">write to us</a> about this page, include this request ID: <code>${problem.request_id}</code></p>`
  return renderPage({ title: isNotFound ? 'Page not found' : title, origin, path, body, noindex: true })
}

/** Replaces the default meaning of `not-found`, which is written for callers of the API. */
const PAGE_NOT_FOUND_TEXT = 'There is no page at this address.'
