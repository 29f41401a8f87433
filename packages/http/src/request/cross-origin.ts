import type { Context, Middleware } from 'koa'
import { Problem } from '../problems/problem.ts'

export interface CrossOriginOptions {
  /** Origins whose scripts may write, with POST or any other method except GET and HEAD. */
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

const createCorsHeaders = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED_HEADERS,
})
/** CORS headers that let scripts of any origin read a response. */
export const PUBLIC_CORS_HEADERS: Readonly<Record<string, string>> = createCorsHeaders('*')

/**
 * Creates the middleware for CORS without credentials: public GETs and POSTs for any origin, other writes for the
 * configured origins. The middleware itself responds to preflights (204). It refuses (403) any other write that a
 * browser marks as cross-site, before the body is read.
 */
export function handleCrossOrigin(options: CrossOriginOptions): Middleware {
  const allowedOrigins = new Set(options.allowedOrigins)
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    const preflightMethod = ctx.method === 'OPTIONS' ? ctx.get('access-control-request-method') : ''
    const method = preflightMethod || ctx.method
    const isRead = method === 'GET' || method === 'HEAD'
    const isPublic = isRead
      ? options.isPublicGet(ctx.path)
      : method === 'POST' && options.isPublicPost?.(ctx.path) === true
    let permittedOrigin: string | undefined
    if (isPublic) permittedOrigin = '*'
    else if (!isRead && allowedOrigins.has(origin)) permittedOrigin = origin
    if (permittedOrigin) ctx.set(createCorsHeaders(permittedOrigin))
    if (!isPublic && !isRead && allowedOrigins.size > 0) ctx.vary('Origin')
    if (preflightMethod && origin) {
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
 * Refuses a form that a browser sends from a page of another origin. `Sec-Fetch-Site` decides. Without it, `Origin`
 * decides, of which only the host is compared: TLS ends at the gateway, so the request does not show the scheme that
 * the browser used. A request with neither header is accepted, because browsers send one of them with a cross-origin
 * POST.
 *
 * @param options.acceptNullOrigin true to accept `Origin: null` without `Sec-Fetch-Site`: for a form with a secret, on
 *   a page with `Referrer-Policy: no-referrer`
 * @throws {Problem} 403 `cross-site-request`
 */
export function requireSameOrigin(
  ctx: Context,
  { acceptNullOrigin = false }: { readonly acceptNullOrigin?: boolean } = {},
): void {
  const site = ctx.get('sec-fetch-site')
  const origin = ctx.get('origin')
  const isOurOrigin = !origin || parseHost(origin) === ctx.host || (acceptNullOrigin && origin === 'null')
  // `none` means that the person started the request, and no page did.
  const isSameOrigin = site ? site === 'same-origin' || site === 'none' : isOurOrigin
  if (!isSameOrigin) throw new Problem('cross-site-request')
}

/** Parses the host of an origin. Returns undefined for an invalid origin, such as `null`. */
const parseHost = (origin: string) => URL.parse(origin)?.host
