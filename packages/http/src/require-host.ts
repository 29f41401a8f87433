import type { Middleware } from 'koa'
import { Problem } from './problem.ts'

/** RFC 9112 §3.2: a host and an optional port, without user information. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::\d*)?$/i

/**
 * Refuses a request whose authority is not the origin's, so that nothing can depend on what a client wrote
 * there (421), and one with no, an invalid or several Host headers (400, RFC 9112 §3.2).
 *
 * @param alsoAccept further authorities such as `127.0.0.1:8080`
 */
export function requireHost(origin: string, alsoAccept: readonly string[] = []): Middleware {
  const { host, protocol } = new URL(origin)
  const accepted = new Set([host, ...alsoAccept.map((authority) => authority.toLowerCase())])
  if (!/:\d+$/.test(host)) accepted.add(`${host}:${protocol === 'https:' ? 443 : 80}`)
  return async (ctx, next) => {
    const [sent = '', ...others] = ctx.req.headersDistinct['host'] ?? []
    if (others.length > 0 || !HOST.test(sent)) {
      throw new Problem('invalid-request', { detail: 'Send exactly one Host header, with a host in it.' })
    }
    for (const authority of [sent, ...authorityOf(ctx.originalUrl)]) {
      if (!accepted.has(authority.toLowerCase())) {
        throw new Problem('misdirected-request', {
          detail: `This service answers at ${origin} only. Nothing was done.`,
        })
      }
    }
    await next()
  }
}

/** The authority of an absolute-form target (RFC 9112 §3.2.2), which outranks Host. */
function authorityOf(target: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i.exec(target)?.groups?.['authority']
  return authority === undefined ? [] : [authority]
}
