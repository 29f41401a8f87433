import { type PreparedResponse, prepareResponse } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Page, renderPage } from '@plainpath/pages'
import { z } from 'zod'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { LIMITS } from '../limits.ts'

const PAGE_TYPE = 'text/html; charset=utf-8'
export const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** Members that all page routes share. */
export const PAGE = {
  method: 'get',
  access: 'open',
  limits: LIMITS.pages,
  responses: { 200: z.string() },
} as const

/** Members that the routes of pages without personal content share. */
export const PUBLIC_PAGE = { ...PAGE, cache: 'public' } as const

/**
 * The headers of a page with a form that changes something. With a stricter referrer policy, older browsers would not send the
 * origin of the form, and the form would be refused.
 */
export const FORM_HEADERS: Record<string, string> = { 'referrer-policy': 'same-origin' }

/** Creates the response for a page with a form that changes something, or for the page that follows such a form. */
export const createFormResponse = <Status extends number>(
  urls: ServiceUrls,
  status: Status,
  page: Omit<Page, 'origin'>,
) => ({ status, headers: FORM_HEADERS, text: renderPageText(urls, page) })

/** Renders a page for one request. */
export const renderPageText = ({ origin }: ServiceUrls, page: Omit<Page, 'origin'>) => ({
  type: PAGE_TYPE,
  content: renderPage({ origin, ...page }),
})

/** Renders a page once, for any number of requests. */
export function preparePage(urls: ServiceUrls, page: Omit<Page, 'origin'>): PreparedResponse {
  const { type, content } = renderPageText(urls, page)
  return prepareResponse(type, content)
}

/** Accepts any text in a form or a query string. A missing field becomes empty, and a repeated field becomes its first value. */
export const FormText = z
  .union([z.string(), z.array(z.string()).transform(([firstValue = '']) => firstValue)])
  .default('')

/** The dependencies of pages that show guides. */
export interface GuidePagesDeps {
  readonly guides: { current(): GuideCatalog }
  readonly urls: ServiceUrls
}
