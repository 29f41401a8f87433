import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Middleware } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { clientAddress, type TrustedProxies } from './client-address.ts'

/** Answers a request; `Koa.callback()` gives one, whose promise is its own business. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface RequestContextOptions {
  log: Log
  origin: string
  trustedProxies: TrustedProxies
  /** One call for each answer; `route` is a pattern such as `/guides/{slug}`, never what was asked for. */
  onAnswer?(answer: { method: string; route: string; status: number; seconds: number }): void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/
/** A read that takes longer is logged always. */
const SLOW_SECONDS = 0.5
/** Of the others one in so many, the first one too. */
const SAMPLED_READS = 100
export const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])

/**
 * Gives each request its id and address (`ctx.state.requestId`, `.address`), a target that Koa can parse
 * (`ctx.originalUrl` is what was sent), the headers every answer has, and a log line without path, query or address:
 * of reads (GET and HEAD) only those that failed or were slow, and one in a hundred; of requests that were refused with 401,
 * 429 or 503 at most 20 a second. Metrics count all of them. Register it first.
 */
export function requestContext(options: RequestContextOptions): Middleware {
  const headers = commonHeaders(options.origin)
  const tell = responseRecorder(options)
  return async (ctx, next) => {
    const startedAt = performance.now()
    ctx.url = originForm(ctx.url)
    const requestId = requestIdFrom(ctx.get('x-request-id'))
    ctx.state['requestId'] = requestId
    ctx.state['address'] = clientAddress(ctx.req, options.trustedProxies)
    ctx.set(headers)
    ctx.set('x-request-id', requestId)
    try {
      await next()
    } finally {
      const method = METHODS.has(ctx.method) ? ctx.method : 'other'
      const route = String(ctx.state['route'] ?? 'unmatched')
      tell({ requestId, method, route, status: ctx.status, startedAt })
    }
  }
}

/** The one that was sent, where it is short and plain. */
export const requestIdFrom = (sent: string) => (REQUEST_ID.test(sent) ? sent : randomUUID())

interface ToldAnswer {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  /** By the clock of `performance`. */
  readonly startedAt: number
}

/** Counts each answer, and logs those that say something. */
export function responseRecorder({ log, onAnswer }: Pick<RequestContextOptions, 'log' | 'onAnswer'>) {
  let reads = 0
  const refusals = refusalsLogged(log)
  function saysSomething(method: string, status: number, seconds: number): boolean {
    const isRead = method === 'GET' || method === 'HEAD'
    if (REFUSED.has(status)) return refusals.hasRoom()
    if (!isRead || status >= 400 || seconds > SLOW_SECONDS || log.logsEveryRead) return true
    reads += 1
    return reads % SAMPLED_READS === 1
  }
  return ({ requestId, method, route, status, startedAt }: ToldAnswer): void => {
    const seconds = (performance.now() - startedAt) / 1000
    onAnswer?.({ method, route, status, seconds })
    if (!saysSomething(method, status, seconds)) return
    const ms = Math.round(seconds * 10_000) / 10
    log.info('request', { request_id: requestId, method, route, status, ms })
  }
}

/** What a flood is answered with. */
const REFUSED = new Set([401, 429, 503])
const MOST_REFUSED_A_SECOND = 20

/** Bounds the lines about requests that were refused: how many had none is logged with the first of a later second. */
function refusalsLogged(log: Pick<Log, 'info'>) {
  let second = 0
  let logged = 0
  let left = 0
  return {
    hasRoom(): boolean {
      const now = Math.floor(performance.now() / 1000)
      if (now !== second) {
        if (left > 0) log.info('refused requests were not logged one by one', { requests: left })
        second = now
        logged = 0
        left = 0
      }
      if (logged < MOST_REFUSED_A_SECOND) logged += 1
      else left += 1
      return left === 0
    },
  }
}

/**
 * A target in origin-form (RFC 9112 §3.2.1) and without fragment. Others can make Koa throw where it reads the
 * path: `http://[`, `//u@[#`.
 */
function originForm(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?<rest>.*)$/i.exec(target)
  const [path = ''] = (absolute?.groups?.['rest'] ?? target).split('#')
  return path.startsWith('/') ? path : `/${path}`
}

/** The headers that every answer has, whoever gives it; `no-store` until a route says otherwise. */
export const commonHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ...(origin.startsWith('https:') && {
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
  }),
})

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

/**
 * Every header of a name, also where Node would join or drop some. `headersDistinct` would sort all headers to give those
 * of one name.
 *
 * @param name in lower case
 */
export function headersNamed({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const found: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index]
    if (sent?.length === name.length && sent.toLowerCase() === name) found.push(rawHeaders[index + 1] ?? '')
  }
  return found
}

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
