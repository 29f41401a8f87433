import type { Middleware } from 'koa'
import { Problem } from './problem.ts'

/**
 * Refuses a request whose authority is not the origin's, so that nothing can depend on what a client wrote
 * there (421), and one with no or several Host headers (400, RFC 9112 §3.2).
 *
 * @param alsoAccept further authorities such as `127.0.0.1:8080`
 */
export function requireHost(origin: string, alsoAccept: readonly string[] = []): Middleware {
  const { host, protocol } = new URL(origin)
  const accepted = new Set([host, ...alsoAccept])
  if (!/:\d+$/.test(host)) accepted.add(`${host}:${protocol === 'https:' ? 443 : 80}`)
  return async (ctx, next) => {
    const names = ctx.req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
    if (names.length !== 1) throw new Problem('invalid-request', { detail: 'Send exactly one Host header.' })
    const target = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i.exec(ctx.req.url ?? '')?.groups?.[
      'authority'
    ]
    for (const authority of [ctx.req.headers.host ?? '', ...(target === undefined ? [] : [target])]) {
      if (!accepted.has(authority.toLowerCase())) {
        throw new Problem('misdirected-request', {
          detail: `This service answers at ${origin} only. Nothing was done.`,
        })
      }
    }
    await next()
  }
}
