import type { Middleware } from 'koa'
import { Problem } from '../problems/problem.ts'
import { headersNamed } from './request-context.ts'

/** RFC 9112 §3.2: a host and an optional port, without user information. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::\d*)?$/i

/**
 * Refuses a request whose authority is not the origin's, so that nothing can depend on what a client wrote
 * there (421), and one with no, an invalid or several Host headers (400, RFC 9112 §3.2).
 *
 * @param alsoAccept further authorities such as `127.0.0.1:8080`
 */
export function requireHost(origin: string, alsoAccept: readonly string[] = []): Middleware {
  const accepted = acceptedHosts(origin, alsoAccept)
  return async (ctx, next) => {
    const [sent = '', ...others] = headersNamed(ctx.req, 'host')
    if (others.length > 0 || !HOST.test(sent)) {
      throw new Problem('invalid-request', { detail: 'Send exactly one Host header, with a host in it.' })
    }
    const authorities = ctx.originalUrl.startsWith('/') ? [sent] : [sent, ...authorityOf(ctx.originalUrl)]
    for (const authority of authorities) {
      if (!accepted.has(authority.toLowerCase())) {
        throw new Problem('misdirected-request', {
          detail: `This service answers at ${origin} only. Nothing was done.`,
        })
      }
    }
    await next()
  }
}

/** The authorities that name the origin, in lower case. */
export function acceptedHosts(origin: string, alsoAccept: readonly string[] = []): ReadonlySet<string> {
  const { host, protocol } = new URL(origin)
  const accepted = new Set([host, ...alsoAccept.map((authority) => authority.toLowerCase())])
  if (!/:\d+$/.test(host)) accepted.add(`${host}:${protocol === 'https:' ? 443 : 80}`)
  return accepted
}

/** The authority of an absolute-form target (RFC 9112 §3.2.2), which outranks Host. */
function authorityOf(target: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i.exec(target)?.groups?.['authority']
  return authority === undefined ? [] : [authority]
}
