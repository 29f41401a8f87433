import { type PreparedResponse, prepareResponse } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Page, renderPage } from '@plainpath/pages'
import { z } from 'zod'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { LIMITS } from '../limits.ts'

const PAGE_TYPE = 'text/html; charset=utf-8'
export const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** What the routes of all pages have in common. */
export const PAGE = {
  method: 'get',
  access: 'open',
  limits: LIMITS.pages,
  responses: { 200: z.string() },
} as const

/** A page that is the same for everybody. */
export const PUBLIC_PAGE = { ...PAGE, cache: 'public' } as const

/**
 * Of a page with a form that changes something: where the referrer is hidden, an older browser hides from us that
 * the form is ours.
 */
export const FORM_HEADERS: Record<string, string> = { 'referrer-policy': 'same-origin' }

/** A page with such a form, or what it is answered with. */
export const answerForm = <Status extends number>(
  urls: ServiceUrls,
  status: Status,
  page: Omit<Page, 'origin'>,
) => ({ status, headers: FORM_HEADERS, text: pageText(urls, page) })

/** A page that is made for one request. */
export const pageText = ({ origin }: ServiceUrls, page: Omit<Page, 'origin'>) => ({
  type: PAGE_TYPE,
  content: renderPage({ origin, ...page }),
})

/** A page that is made once and sent many times. */
export function preparePage(urls: ServiceUrls, page: Omit<Page, 'origin'>): PreparedResponse {
  const { type, content } = pageText(urls, page)
  return prepareResponse(type, content)
}

/** A form and a link take any text: of a name that comes twice the first, and nothing is no mistake. */
export const FormText = z
  .union([z.string(), z.array(z.string()).transform(([first = '']) => first)])
  .default('')

/** What the pages about guides are made from. */
export interface GuidePagesDeps {
  readonly guides: { current(): GuideCatalog }
  readonly urls: ServiceUrls
}
