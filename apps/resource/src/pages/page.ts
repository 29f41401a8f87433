import { z } from 'zod'
import { LIMITS } from '../limits.ts'

export const PAGE_TYPE = 'text/html; charset=utf-8'
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
