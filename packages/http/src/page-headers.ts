import type { Middleware } from 'koa'

/**
 * Gives every answer in HTML, errors too, the headers of a page. Register it before the errors are answered.
 *
 * @param csp what the pages need, as a content security policy
 */
export const pageHeaders =
  (csp: string): Middleware =>
  async (ctx, next) => {
    await next()
    if (ctx.response.is('html')) {
      ctx.set('content-security-policy', csp)
      if (!ctx.response.get('referrer-policy')) ctx.set('referrer-policy', 'no-referrer')
    }
  }
