import { randomUUID } from 'node:crypto'
import type { Middleware } from 'koa'
import { clientAddress, type TrustedProxies } from './client-address.ts'
import { headersOfEveryAnswer } from './every-answer.ts'
import type { Log } from './log.ts'

export interface RequestContextOptions {
  log: Log
  origin: string
  trustedProxies: TrustedProxies
  /** One call for each answer; `route` is a pattern such as `/guides/{slug}`, never what was asked for. */
  onAnswer?(answer: { method: string; route: string; status: number; seconds: number }): void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])

/**
 * Gives each request its id and address (`ctx.state.requestId`, `.address`), a target that Koa can parse
 * (`ctx.originalUrl` is what was sent), the headers every answer has, and one log line without path, query or
 * address. Register it first.
 */
export function requestContext(options: RequestContextOptions): Middleware {
  const headers = headersOfEveryAnswer(options.origin)
  return async (ctx, next) => {
    const startedAt = performance.now()
    ctx.url = originForm(ctx.url)
    const sent = ctx.get('x-request-id')
    const requestId = REQUEST_ID.test(sent) ? sent : randomUUID()
    ctx.state['requestId'] = requestId
    ctx.state['address'] = clientAddress(ctx.req, options.trustedProxies)
    ctx.set(headers)
    ctx.set('x-request-id', requestId)
    try {
      await next()
    } finally {
      const seconds = (performance.now() - startedAt) / 1000
      const method = METHODS.has(ctx.method) ? ctx.method : 'other'
      const route = String(ctx.state['route'] ?? 'unmatched')
      options.onAnswer?.({ method, route, status: ctx.status, seconds })
      options.log.info('request', {
        request_id: requestId,
        method,
        route,
        status: ctx.status,
        ms: Math.round(seconds * 10_000) / 10,
      })
    }
  }
}

/**
 * A target in origin-form (RFC 9112 §3.2.1) and without fragment. Others can make Koa throw where it reads the
 * path: `http://[`, `//u@[#`.
 */
function originForm(target: string): string {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?<rest>.*)$/i.exec(target)
  const [path = ''] = (absolute?.groups?.['rest'] ?? target).split('#')
  return path.startsWith('/') ? path : `/${path}`
}
