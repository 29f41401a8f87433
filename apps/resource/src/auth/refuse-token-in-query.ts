import type { ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { createBearerRefusals } from './bearer-refusals.ts'

/**
 * Creates the middleware that refuses a request with a token in its URL, because URLs end up in logs and browser histories
 * (RFC 6750 §2.3, RFC 9700 §4.3.2).
 */
export function refuseTokenInQuery(urls: ServiceUrls) {
  return async (ctx: Context, next: () => Promise<unknown>): Promise<void> => {
    if (ctx.querystring && new URLSearchParams(ctx.querystring).has('access_token')) {
      throw createBearerRefusals(urls, [], ctx.path).ambiguousToken(
        'Send the token in the Authorization header, never in the address. Revoke this one: it may have been logged.',
      )
    }
    await next()
  }
}
