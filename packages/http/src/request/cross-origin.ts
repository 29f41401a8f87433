import type { Context, Middleware } from 'koa'
import { Problem } from '../problems/problem.ts'

export interface CrossOriginOptions {
  /** Origins whose scripts may POST. */
  allowedOrigins: readonly string[]
  /** Paths whose GET any origin may read. */
  isPublicGet(path: string): boolean
  /** Paths to which any origin may POST, since a POST there changes nothing; none unless given. */
  isPublicPost?(path: string): boolean
}

const EXPOSED = 'DPoP-Nonce, ETag, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'
const ACCEPTED =
  'Authorization, Client-Assertion, Content-Type, DPoP, If-None-Match, X-Request-Id, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name'

const readableBy = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
})
/** Headers of a response that scripts of any origin may read. */
export const READABLE_BY_ALL: Readonly<Record<string, string>> = readableBy('*')

/**
 * Applies CORS without credentials: public GETs and POSTs for any origin, other writes for the configured ones. Refuses
 * (403) a write that a browser sends for another site, before the body is read.
 */
export function crossOrigin(options: CrossOriginOptions): Middleware {
  const allowed = new Set(options.allowedOrigins)
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    const preflightFor = ctx.method === 'OPTIONS' ? ctx.get('access-control-request-method') : ''
    const method = preflightFor || ctx.method
    const reads = method === 'GET' || method === 'HEAD'
    const isPublic = reads
      ? options.isPublicGet(ctx.path)
      : method === 'POST' && options.isPublicPost?.(ctx.path) === true
    const permitted = isPublic ? '*' : !reads && allowed.has(origin) && origin
    if (permitted) ctx.set(readableBy(permitted))
    if (!isPublic && !reads && allowed.size > 0) ctx.vary('Origin')
    if (preflightFor && origin) {
      if (permitted) {
        ctx.set({
          'access-control-allow-methods': reads ? 'GET, HEAD' : method,
          'access-control-allow-headers': ACCEPTED,
          'access-control-max-age': '600',
        })
      }
      ctx.state['route'] = 'preflight'
      ctx.status = 204
      return
    }
    const write = !reads && ctx.method !== 'OPTIONS'
    if (write && !permitted && ctx.get('sec-fetch-site') === 'cross-site')
      throw new Problem('cross-site-request')
    await next()
  }
}

/**
 * Refuses a form that a browser sends for a page of another origin. `Sec-Fetch-Site` decides, or `Origin` in a browser
 * without it. A request with neither header does not come from a browser that shows another site's page.
 *
 * @param unguessable true for a form with a secret, whose page sends no referrer: `Origin: null` is then accepted
 * @throws {Problem} 403 `cross-site-request`
 */
export function requireSameOrigin(ctx: Context, unguessable = false): void {
  const site = ctx.get('sec-fetch-site')
  const origin = ctx.get('origin')
  const fromOurs = !origin || parseHost(origin) === ctx.host || (unguessable && origin === 'null')
  const same = site ? site === 'same-origin' || site === 'none' : fromOurs
  if (!same)
    throw new Problem('cross-site-request', {
      detail: 'Forms of other sites are refused. Open the page of this form here, and send it again.',
    })
}

/** Parses the host of an origin. The origin `null`, sent by pages without a referrer, has none. */
const parseHost = (origin: string) => URL.parse(origin)?.host
