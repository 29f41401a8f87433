import { PAGE_CSP } from '@plainpath/pages'
import type { Middleware } from 'koa'

/** Gives every answer in HTML, errors too, the headers of a page. Register it before the errors are answered. */
export const pageHeaders: Middleware = async (ctx, next) => {
  await next()
  if (ctx.response.is('html')) {
    ctx.set('content-security-policy', PAGE_CSP)
    if (!ctx.response.get('referrer-policy')) ctx.set('referrer-policy', 'no-referrer')
  }
}
