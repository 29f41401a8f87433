import type { Context, Middleware } from 'koa'
import { Problem } from '../problems/problem.ts'

export interface CrossOriginOptions {
  /** Origins whose scripts may write, with POST or any other method than GET and HEAD. */
  allowedOrigins: readonly string[]
  /** Returns true for paths that any origin may GET. */
  isPublicGet(path: string): boolean
  /** Returns true for paths to which any origin may POST, because that changes nothing. By default, none. */
  isPublicPost?(path: string): boolean
}

const EXPOSED_HEADERS =
  'DPoP-Nonce, ETag, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'
const ACCEPTED_HEADERS =
  'Authorization, Client-Assertion, Content-Type, DPoP, If-None-Match, X-Request-Id, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name'

const createReadableHeaders = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED_HEADERS,
})
/** The headers of a response that scripts of any origin may read. */
export const READABLE_BY_ALL: Readonly<Record<string, string>> = createReadableHeaders('*')

/**
 * Creates the middleware for CORS without credentials: public GETs and POSTs for any origin, other writes for the
 * configured origins. Refuses (403) any other write that a browser marks as cross-site, before the body is read.
 */
export function handleCrossOrigin(options: CrossOriginOptions): Middleware {
  const allowedOrigins = new Set(options.allowedOrigins)
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    const preflightFor = ctx.method === 'OPTIONS' ? ctx.get('access-control-request-method') : ''
    const method = preflightFor || ctx.method
    const isRead = method === 'GET' || method === 'HEAD'
    const isPublic = isRead
      ? options.isPublicGet(ctx.path)
      : method === 'POST' && options.isPublicPost?.(ctx.path) === true
    const permittedOrigin = isPublic ? '*' : !isRead && allowedOrigins.has(origin) && origin
    if (permittedOrigin) ctx.set(createReadableHeaders(permittedOrigin))
    if (!isPublic && !isRead && allowedOrigins.size > 0) ctx.vary('Origin')
    if (preflightFor && origin) {
      if (permittedOrigin) {
        ctx.set({
          'access-control-allow-methods': isRead ? 'GET, HEAD' : method,
          'access-control-allow-headers': ACCEPTED_HEADERS,
          'access-control-max-age': '600',
        })
      }
      ctx.state['route'] = 'preflight'
      ctx.status = 204
      return
    }
    const isWrite = !isRead && ctx.method !== 'OPTIONS'
    if (isWrite && !permittedOrigin && ctx.get('sec-fetch-site') === 'cross-site')
      throw new Problem('cross-site-request')
    await next()
  }
}

/**
 * Refuses a form that a browser sends from a page of another origin. `Sec-Fetch-Site` decides, or `Origin` if the
 * browser does not send it. A request without either header does not come from another site's page.
 *
 * @param isUnguessable true for a form with a secret, whose page sends no referrer; `Origin: null` is then accepted
 * @throws {Problem} 403 `cross-site-request`
 */
export function requireSameOrigin(ctx: Context, isUnguessable = false): void {
  const site = ctx.get('sec-fetch-site')
  const origin = ctx.get('origin')
  const isOurOrigin = !origin || parseHost(origin) === ctx.host || (isUnguessable && origin === 'null')
  const isSameOrigin = site ? site === 'same-origin' || site === 'none' : isOurOrigin
  if (!isSameOrigin)
    throw new Problem('cross-site-request', {
      detail: 'Forms of other sites are refused. Open the page of this form here, and send it again.',
    })
}

/** Parses the host of an origin. Returns undefined for the origin `null`, which pages without a referrer send. */
const parseHost = (origin: string) => URL.parse(origin)?.host
