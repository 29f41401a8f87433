import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Middleware } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { clientAddress, type TrustedProxies } from './client-address.ts'

/*
 * What every request gets before any other middleware: an id, the client's address, common headers, a log line and a count.
 * Also the checks of `Host`, and the headers of HTML pages.
 */

/** Responds to a request. A promise that it returns, as `Koa.callback()` does, is ignored. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface RequestContextOptions {
  log: Log
  origin: string
  trustedProxies: TrustedProxies
  /** Called once for each response. `route` is a pattern such as `/guides/{slug}`, never the path of the request. */
  onResponse?(response: { method: string; route: string; status: number; seconds: number }): void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/
/** Slower reads are always logged. */
const SLOW_SECONDS = 0.5
/** One in this many of the other reads is logged, beginning with the first. */
const SAMPLED_READS = 100
export const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])

/**
 * Sets the id and the client's address (`ctx.state.requestId`, `.address`), a target that Koa can parse (`ctx.originalUrl`
 * is the target as sent) and the common headers, and logs the request without path, query or address. Register it first.
 *
 * Not every request is logged: of reads (GET and HEAD) those that failed or were slow, and one in a hundred of the others; of
 * requests refused with 401, 429 or 503 at most 20 a second. Metrics count all of them.
 */
export function requestContext(options: RequestContextOptions): Middleware {
  const headers = commonHeaders(options.origin)
  const record = responseRecorder(options)
  return async (ctx, next) => {
    const startedAt = performance.now()
    ctx.url = toOriginForm(ctx.url)
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
      record({ requestId, method, route, status: ctx.status, startedAt })
    }
  }
}

/** Returns the id that the client sent if it has a valid form, else a new one. */
export const requestIdFrom = (sent: string) => (REQUEST_ID.test(sent) ? sent : randomUUID())

interface RecordedResponse {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  /** By the clock of `performance`. */
  readonly startedAt: number
}

/** Creates a function that counts each response and logs some of them, as described at {@link requestContext}. */
export function responseRecorder({ log, onResponse }: Pick<RequestContextOptions, 'log' | 'onResponse'>) {
  let reads = 0
  const refusals = refusalLogBudget(log)
  function isLogged(method: string, status: number, seconds: number): boolean {
    const isRead = method === 'GET' || method === 'HEAD'
    if (REFUSED.has(status)) return refusals.hasRoom()
    if (!isRead || status >= 400 || seconds > SLOW_SECONDS || log.logsEveryRead) return true
    reads += 1
    return reads % SAMPLED_READS === 1
  }
  return ({ requestId, method, route, status, startedAt }: RecordedResponse): void => {
    const seconds = (performance.now() - startedAt) / 1000
    onResponse?.({ method, route, status, seconds })
    if (!isLogged(method, status, seconds)) return
    const ms = Math.round(seconds * 10_000) / 10
    log.info('request', { request_id: requestId, method, route, status, ms })
  }
}

/** The statuses that most requests of a flood get. */
const REFUSED = new Set([401, 429, 503])
const MOST_REFUSED_A_SECOND = 20

/** Bounds the log lines about refused requests. The number of those without a line is logged in the next second that has one. */
function refusalLogBudget(log: Pick<Log, 'info'>) {
  let second = 0
  let logged = 0
  let skipped = 0
  return {
    hasRoom(): boolean {
      const now = Math.floor(performance.now() / 1000)
      if (now !== second) {
        if (skipped > 0) log.info('refused requests were not logged one by one', { requests: skipped })
        second = now
        logged = 0
        skipped = 0
      }
      if (logged < MOST_REFUSED_A_SECOND) logged += 1
      else skipped += 1
      return skipped === 0
    },
  }
}

/**
 * Converts a target to origin-form (RFC 9112 §3.2.1) without a fragment. Other forms, such as `http://[` and `//u@[#`, can
 * make Koa throw where it reads the path.
 */
function toOriginForm(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?<rest>.*)$/i.exec(target)
  const [path = ''] = (absolute?.groups?.['rest'] ?? target).split('#')
  return path.startsWith('/') ? path : `/${path}`
}

/** The headers of every response. A route may replace `no-store`. */
export const commonHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ...(origin.startsWith('https:') && {
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
  }),
})

/**
 * Adds the headers of a page to every HTML response, including errors. Register it before the error handler.
 *
 * @param csp the content security policy of the pages whose route sets none
 */
export const pageHeaders =
  (csp: string): Middleware =>
  async (ctx, next) => {
    await next()
    if (ctx.response.is('html')) {
      if (!ctx.response.get('content-security-policy')) ctx.set('content-security-policy', csp)
      if (!ctx.response.get('referrer-policy')) ctx.set('referrer-policy', 'no-referrer')
    }
  }

/**
 * Returns every header of one name, also where Node would join or drop duplicates. `headersDistinct` would process all
 * headers for the same result.
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

/** A host and an optional port, without user information (RFC 9112 §3.2). */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::\d*)?$/i

/**
 * Refuses a request for another authority than the origin's (421), so that no code can depend on a forged one, and a request
 * whose Host header is missing, invalid or duplicated (400, RFC 9112 §3.2).
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
    const authorities = ctx.originalUrl.startsWith('/') ? [sent] : [sent, ...parseAuthority(ctx.originalUrl)]
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

/** Lists the authorities that name the origin, in lower case. */
export function acceptedHosts(origin: string, alsoAccept: readonly string[] = []): ReadonlySet<string> {
  const { host, protocol } = new URL(origin)
  const accepted = new Set([host, ...alsoAccept.map((authority) => authority.toLowerCase())])
  if (!/:\d+$/.test(host)) accepted.add(`${host}:${protocol === 'https:' ? 443 : 80}`)
  return accepted
}

/** Parses the authority of an absolute-form target (RFC 9112 §3.2.2), which takes precedence over Host. */
function parseAuthority(target: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i.exec(target)?.groups?.['authority']
  return authority === undefined ? [] : [authority]
}
