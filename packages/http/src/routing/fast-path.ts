import type { IncomingMessage, ServerResponse } from 'node:http'
import { formatLimitHeaders } from '../limits/enforce-limits.ts'
import type { LimitState } from '../limits/limit-store.ts'
import type { Limiter } from '../limits/limiter.ts'
import { type TraceRequestsOptions, traceResponse } from '../observability/trace-requests.ts'
import { findClientAddress } from '../request/client-address.ts'
import { PUBLIC_CORS_HEADERS } from '../request/cross-origin.ts'
import {
  chooseRequestId,
  createCommonHeaders,
  createResponseRecorder,
  findHeaders,
  listAcceptedHosts,
  type RequestContextOptions,
  type RequestHandler,
} from '../request/request-context.ts'
import {
  CONDITIONAL_HEADERS,
  type EncodedBody,
  findCachedBody,
  getCacheControl,
  type PreparedResponse,
  VARY_HEADERS,
} from './prepared-response.ts'
import type { Caller, RouteLimits } from './route.ts'

/*
 * The fast path, in front of Koa, for public GETs whose response is in memory. It sends only 200. Every other request
 * goes to the app. The app must send the same response to a request that the fast path serves.
 */

/** A response to a public GET from memory. */
export interface FastPathResponse {
  /** The route's path, such as `/guides/{slug}`. */
  readonly route: string
  readonly limits: RouteLimits
  readonly response: PreparedResponse
}

export interface FastPathOptions extends RequestContextOptions {
  /** Accepted authorities besides the origin's, such as `127.0.0.1:8080`. */
  readonly additionalHosts?: readonly string[]
  readonly limiter: Limiter
  readonly traces?: TraceRequestsOptions | undefined
  /**
   * Finds a response. Returning undefined leaves the request to the app.
   *
   * @param target the request target as it was sent, with its query
   */
  find(target: string, accept: string | undefined): FastPathResponse | undefined
  /** Returns the caller of a token whose introspection is cached; undefined for any other `Authorization`. */
  findCachedCaller(request: IncomingMessage): Caller | undefined
}

/** A response from memory to a request that its limits allow. */
interface MemoryResponse {
  readonly route: string
  readonly limits: readonly LimitState[]
  /** Names and values alternately. */
  readonly headers: readonly string[]
  /** The body, as one character per byte. */
  readonly text: string
}

/** Headers that change the response, announce a body or need a store. Requests with one of them go to the app. */
const UNSUPPORTED_HEADERS = [
  ...CONDITIONAL_HEADERS,
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'dpop',
]

/**
 * Creates a handler that responds to plain public GETs synchronously, as `app` would, if the response, the limits and
 * the token are all in this process's memory. Koa and its middleware take several times as long for the same response.
 * Any other request goes to `app` uncounted, even one that might be refused.
 */
export function createFastPath(app: RequestHandler, options: FastPathOptions): RequestHandler {
  const acceptedHosts = listAcceptedHosts(options.origin, options.additionalHosts)
  const recordResponse = createResponseRecorder(options)
  const listHeaders = createHeaderCache(options.origin)
  const decodeBody = createTextCache()

  /**
   * Prepares the response, and counts the request against its limits. Returns undefined, and counts nothing, if the app must
   * respond.
   */
  function prepareMemoryResponse(request: IncomingMessage): MemoryResponse | undefined {
    const { method, url = '', headers } = request
    if (method !== 'GET' || UNSUPPORTED_HEADERS.some((name) => headers[name] !== undefined)) return undefined
    const [host = '', otherHost] = findHeaders(request, 'host')
    const match = options.find(url, headers.accept)
    if (!match || otherHost !== undefined || !acceptedHosts.has(host.toLowerCase())) return undefined
    const body = findCachedBody(match.response, headers['accept-encoding']?.toString())
    const caller = headers.authorization === undefined ? undefined : options.findCachedCaller(request)
    if (!body || (headers.authorization !== undefined && !caller)) return undefined
    // The limits come last, because the app must not count the same request again.
    const address = findClientAddress(request, options.trustedProxies)
    const limits = options.limiter.takeLocally(match.limits, address, caller)
    if (!limits) return undefined
    return {
      route: match.route,
      limits,
      headers: listHeaders(match.response, body, caller !== undefined),
      text: decodeBody(body),
    }
  }

  function send(response: ServerResponse, requestId: string, memoryResponse: MemoryResponse): void {
    const { headers, text } = memoryResponse
    const limits = formatLimitHeaders(memoryResponse.limits)
    response.writeHead(200, [
      ...headers,
      'x-request-id',
      requestId,
      'ratelimit-policy',
      limits['ratelimit-policy'],
      'ratelimit',
      limits.ratelimit,
    ])
    // Node sends the head and a string in one write. A buffer would need a second write.
    response.end(text, 'latin1')
  }

  return (request, response) => {
    const startedAt = performance.now()
    const memoryResponse = prepareMemoryResponse(request)
    if (!memoryResponse) return void app(request, response)
    const requestId = chooseRequestId(request.headers['x-request-id']?.toString() ?? '')
    const outcome = { method: 'GET', route: memoryResponse.route, status: 200 }
    const sendAndRecord = () => {
      send(response, requestId, memoryResponse)
      recordResponse({ ...outcome, requestId, startedAt })
    }
    if (options.traces) traceResponse(options.traces, request, { ...outcome, send: sendAndRecord })
    else sendAndRecord()
  }
}

/** Creates a cached function that decodes a body into one character per byte, which `latin1` encodes again. */
function createTextCache() {
  const texts = new WeakMap<EncodedBody, string>()
  return (body: EncodedBody): string => {
    const text = texts.get(body) ?? body.bytes.toString('latin1')
    texts.set(body, text)
    return text
  }
}

/** Creates a cached function that lists header names and values alternately, which Node sends without checks. */
function createHeaderCache(origin: string) {
  const common = { ...createCommonHeaders(origin), ...PUBLIC_CORS_HEADERS }
  const cache = {
    anonymous: new WeakMap<EncodedBody, string[]>(),
    authenticated: new WeakMap<EncodedBody, string[]>(),
  }
  return ({ type }: PreparedResponse, body: EncodedBody, hasCaller: boolean): readonly string[] => {
    const headersByBody = hasCaller ? cache.authenticated : cache.anonymous
    const headers =
      headersByBody.get(body) ??
      Object.entries({
        ...common,
        'cache-control': getCacheControl(hasCaller),
        ...(body.coding !== 'identity' && { 'content-encoding': body.coding }),
        'content-type': type,
        'content-length': String(body.bytes.length),
        vary: VARY_HEADERS,
        etag: `"${body.tag}"`,
      }).flat()
    headersByBody.set(body, headers)
    return headers
  }
}
