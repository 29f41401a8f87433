import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Middleware } from 'koa'
import type { Log } from '../observability/log.ts'
import { Problem } from '../problems/problem.ts'
import { findClientAddress, type TrustedProxies } from './client-address.ts'

/*
 * Gives every request an id, the client's address and common response headers, and logs and counts its response. This
 * module also checks `Host`, and sets the headers of HTML pages.
 */

/** Responds to a request. If it returns a promise, as `Koa.callback()` does, the promise is ignored. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface RequestContextOptions {
  log: Log
  /** The public origin, such as `https://plainpath.example`. */
  origin: string
  trustedProxies: TrustedProxies
  /** Called once for each response. `route` is a pattern such as `/guides/{slug}` or a word such as `unmatched`. */
  onResponse?(response: { method: string; route: string; status: number; seconds: number }): void
}

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{8,64}$/
/** GET and HEAD requests that take longer are always logged. */
const SLOW_SECONDS = 0.5
/** One of this many other GET and HEAD requests is logged, beginning with the first. */
const SAMPLE_INTERVAL = 100
export const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])

/**
 * Creates the middleware that sets `ctx.state.requestId`, `ctx.state.address` (the client's address) and the common
 * response headers. It replaces `ctx.url` with a target that Koa can parse; `ctx.originalUrl` stays as it was sent. It
 * logs the request without path, query or address. Register it before all other middleware except `traceRequests`.
 *
 * Metrics count every request, but not every request is logged. Of reads (GET and HEAD), those that failed or were slow
 * are logged, and one in a hundred of the others, unless `log.logsEveryRead` is set. Of requests refused with 401, 429 or
 * 503, at most 20 a second are logged.
 */
export function addRequestContext(options: RequestContextOptions): Middleware {
  const headers = createCommonHeaders(options.origin)
  const recordResponse = createResponseRecorder(options)
  return async (ctx, next) => {
    const startedAt = performance.now()
    ctx.url = toOriginForm(ctx.url)
    const requestId = chooseRequestId(ctx.get('x-request-id'))
    ctx.state['requestId'] = requestId
    ctx.state['address'] = findClientAddress(ctx.req, options.trustedProxies)
    ctx.set(headers)
    ctx.set('x-request-id', requestId)
    try {
      await next()
    } finally {
      const method = KNOWN_METHODS.has(ctx.method) ? ctx.method : 'other'
      const route = String(ctx.state['route'] ?? 'unmatched')
      recordResponse({ requestId, method, route, status: ctx.status, startedAt })
    }
  }
}

/** Returns the id that the client sent, if it is valid; otherwise a new id. */
export const chooseRequestId = (receivedId: string) =>
  REQUEST_ID_PATTERN.test(receivedId) ? receivedId : randomUUID()

interface RecordedResponse {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  /** When the request began, by `performance.now()`. */
  readonly startedAt: number
}

/** Creates a function that counts each response and logs some, as {@link addRequestContext} describes. */
export function createResponseRecorder({
  log,
  onResponse,
}: Pick<RequestContextOptions, 'log' | 'onResponse'>) {
  let readCount = 0
  const refusals = createRefusalLogBudget(log)
  function isLogged(method: string, status: number, seconds: number): boolean {
    const isRead = method === 'GET' || method === 'HEAD'
    if (REFUSAL_STATUSES.has(status)) return refusals.take()
    if (!isRead || status >= 400 || seconds > SLOW_SECONDS || log.logsEveryRead) return true
    readCount += 1
    return readCount % SAMPLE_INTERVAL === 1
  }
  return ({ requestId, method, route, status, startedAt }: RecordedResponse): void => {
    const seconds = (performance.now() - startedAt) / 1000
    onResponse?.({ method, route, status, seconds })
    if (!isLogged(method, status, seconds)) return
    const ms = Math.round(seconds * 10_000) / 10
    log.info('request', { request_id: requestId, method, route, status, ms })
  }
}

/** In a flood, most requests are refused with one of these statuses. */
const REFUSAL_STATUSES = new Set([401, 429, 503])
const MAX_REFUSALS_PER_SECOND = 20

/** Limits the log lines about refused requests. The first refusal of a later second also logs how many were skipped. */
function createRefusalLogBudget(log: Pick<Log, 'info'>) {
  let currentSecond = 0
  let loggedCount = 0
  let skippedCount = 0
  return {
    /** Returns whether another refused request may be logged in this second. Counts it either way. */
    take(): boolean {
      const second = Math.floor(performance.now() / 1000)
      if (second !== currentSecond) {
        if (skippedCount > 0) log.info('some refused requests were not logged', { requests: skippedCount })
        currentSecond = second
        loggedCount = 0
        skippedCount = 0
      }
      if (loggedCount < MAX_REFUSALS_PER_SECOND) loggedCount += 1
      else skippedCount += 1
      return skippedCount === 0
    },
  }
}

/**
 * Converts a target to origin-form (RFC 9112 §3.2.1) without a fragment. With other forms, such as `http://[` and
 * `//u@[#`, Koa can throw when it reads the path.
 */
function toOriginForm(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?<rest>.*)$/i.exec(target)
  const [path = ''] = (absolute?.groups?.['rest'] ?? target).split('#')
  return path.startsWith('/') ? path : `/${path}`
}

/** Creates the headers that every response has. A route may replace `no-store`. */
export const createCommonHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  // Browsers use only HTTPS for the next two years.
  ...(origin.startsWith('https:') && {
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
  }),
})

/**
 * Creates the middleware that adds page headers to every HTML response, including errors. Register it before the error
 * handler.
 *
 * @param csp the content security policy of pages whose route sets none
 */
export const addPageHeaders =
  (csp: string): Middleware =>
  async (ctx, next) => {
    await next()
    if (ctx.response.type === 'text/html') {
      if (!ctx.response.get('content-security-policy')) ctx.set('content-security-policy', csp)
      if (!ctx.response.get('referrer-policy')) ctx.set('referrer-policy', 'no-referrer')
    }
  }

/**
 * Finds all headers with a name, including duplicates that Node would join or drop. `headersDistinct` has the same
 * result, but processes all headers.
 *
 * @param name in lower case
 */
export function findHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const headerName = rawHeaders[index]
    if (headerName?.length === name.length && headerName.toLowerCase() === name)
      values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}

/** A host and an optional port, without userinfo (RFC 9112 §3.2). */
const HOST_PATTERN = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::\d*)?$/i

/**
 * Creates the middleware that refuses a request for an authority other than the origin's (421), so that no code
 * relies on a forged authority. Also refuses a request whose Host header is missing, invalid or duplicated (400, RFC 9112
 * §3.2).
 *
 * @param alsoAccept other accepted authorities, such as `127.0.0.1:8080`
 */
export function requireHost(origin: string, alsoAccept: readonly string[] = []): Middleware {
  const acceptedHosts = listAcceptedHosts(origin, alsoAccept)
  return async (ctx, next) => {
    const [host = '', ...duplicates] = findHeaders(ctx.req, 'host')
    if (duplicates.length > 0 || !HOST_PATTERN.test(host)) {
      throw new Problem('invalid-request', { detail: 'Send exactly one Host header, with a valid host.' })
    }
    const authorities = ctx.originalUrl.startsWith('/') ? [host] : [host, ...listAuthorities(ctx.originalUrl)]
    for (const authority of authorities) {
      if (!acceptedHosts.has(authority.toLowerCase())) {
        throw new Problem('misdirected-request', {
          detail: `This service is available at ${origin} only. Nothing was done.`,
        })
      }
    }
    await next()
  }
}

/** Lists the accepted authorities in lower case: the origin's, with and without its default port, and `alsoAccept`. */
export function listAcceptedHosts(origin: string, alsoAccept: readonly string[] = []): ReadonlySet<string> {
  const { host, protocol } = new URL(origin)
  const acceptedHosts = new Set([host, ...alsoAccept.map((authority) => authority.toLowerCase())])
  if (!/:\d+$/.test(host)) acceptedHosts.add(`${host}:${protocol === 'https:' ? 443 : 80}`)
  return acceptedHosts
}

/** Lists the authority of an absolute-form target (RFC 9112 §3.2.2), which takes precedence over Host; empty if it has none. */
function listAuthorities(target: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i.exec(target)?.groups?.['authority']
  return authority === undefined ? [] : [authority]
}
