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
  // By default, `detail` is the meaning followed by the remedy. The page shows the remedy under a heading of its own.
  const explanation = detail === `${meaning} ${remedy}` ? meaning : detail
  const successor = Successor.safeParse(problem['successor']).data
  const isNotFound = code === 'not-found'
  const page = isNotFound
    ? renderNotFoundPage({
        meaning: explanation === meaning ? PAGE_NOT_FOUND_TEXT : explanation,
        guides: guides.current().list().guides,
      })
    : renderProblemPage({
        origin,
        code,
        title,
        status,
        meaning: explanation,
        remedy: code === 'rate-limited' ? RATE_LIMITED_REMEDY : remedy,
      })
  const body = html`${page}
${successor && html`<p><a href="${successor.url}">Read the guide that took its place</a></p>`}
<p class="facts">If you <a href="/contact">write to us</a> about this page, include this request ID: <code>${problem.request_id}</code></p>`
  return renderPage({ title: isNotFound ? 'Page not found' : title, origin, path, body, noindex: true })
}

/** Replaces the default meaning of `not-found`, which is written for callers of the API. */
const PAGE_NOT_FOUND_TEXT = 'There is no page at this address.'

/** Replaces the remedy of `rate-limited`, which names a header that people do not see. */
const RATE_LIMITED_REMEDY =
  'Reload this page after this time. If you sent a form, your browser asks whether to send it again. Confirm this, and what you ' +
  'typed is sent. If you go back instead, the form may be empty.'
