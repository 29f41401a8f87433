import { getProblemKind, type ProblemDocument } from '@plainpath/http'
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
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = getProblemKind(code)
  // The default detail ends with the remedy, which the page of a problem shows separately.
  const explanation = detail === `${meaning} ${remedy}` ? meaning : detail
  const successor = Successor.safeParse(problem['successor']).data
  const isMissing = code === 'not-found'
  const page = isMissing
    ? renderNotFoundPage({
        meaning: explanation === meaning ? NO_PAGE : explanation,
        guides: guides.current().list().guides,
      })
    : renderProblemPage({ origin, code, title, status, meaning: explanation, remedy })
  const body = html`${page}
${successor && html`<p><a href="${successor.url}">Read the guide that took its place</a></p>`}
<p class="facts">If you <a href="/contact">write to us</a> about this page, give us this number: <code>${problem.request_id}</code></p>`
  return renderPage({ title: isMissing ? 'Page not found' : title, origin, path, body, noindex: true })
}

const NO_PAGE = 'There is no page at this address.'
