import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Limiter } from '../limits/limiter.ts'
import { limitFields } from '../limits/spend-limits.ts'
import { type TraceRequestsOptions, traceResponse } from '../observability/trace-requests.ts'
import { clientAddress } from '../request/client-address.ts'
import { READABLE_BY_ALL } from '../request/cross-origin.ts'
import {
  acceptedHosts,
  commonHeaders,
  headersNamed,
  type RequestContextOptions,
  type RequestHandler,
  requestIdFrom,
  responseRecorder,
} from '../request/request-context.ts'
import {
  CONDITIONS,
  cacheControl,
  cachedForm,
  type PreparedForm,
  type PreparedResponse,
  VARIES,
} from './prepared-response.ts'
import type { Caller, RouteLimits } from './route.ts'

/*
 * A fast path for public GETs whose response is in memory, in front of Koa. It only ever sends 200; anything it cannot settle
 * from memory goes to the app, which must give the same response.
 */

/** The response to a public GET, from memory. */
export interface FastPathResponse {
  /** The path of its route, such as `/guides/{slug}`. */
  readonly route: string
  readonly limits: RouteLimits
  readonly response: PreparedResponse
}

export interface FastPathOptions extends RequestContextOptions {
  readonly alsoAcceptHosts?: readonly string[]
  readonly limiter: Limiter
  readonly traces?: TraceRequestsOptions | undefined
  /** Finds a response; undefined leaves the request to the app. @param target as it was sent, with its query */
  find(target: string, accept: string | undefined): FastPathResponse | undefined
  /** Returns the caller of a token whose introspection is cached; undefined for any other `Authorization`. */
  cachedCaller(request: IncomingMessage): Caller | undefined
}

/** Request headers that change the response, announce a body or need a check with a store: such requests go to the app. */
const UNSUPPORTED_HEADERS = [
  ...CONDITIONS,
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'dpop',
]

/**
 * Responds to plain public GETs synchronously if the response, the limits and the token are all in the memory of this
 * process, exactly as `app` would. Every other request, also one that might be refused, goes to `app` uncounted. Koa and its
 * middleware take several times as long for the same response.
 */
export function fastPath(app: RequestHandler, options: FastPathOptions): RequestHandler {
  const hosts = acceptedHosts(options.origin, options.alsoAcceptHosts)
  const record = responseRecorder(options)
  const headersFor = cachedHeaders(options.origin)
  const decode = cachedText()

  function settle(request: IncomingMessage) {
    const { method, url = '', headers } = request
    if (method !== 'GET' || UNSUPPORTED_HEADERS.some((name) => headers[name] !== undefined)) return undefined
    const [host = '', otherHost] = headersNamed(request, 'host')
    const found = options.find(url, headers.accept)
    if (!found || otherHost !== undefined || !hosts.has(host.toLowerCase())) return undefined
    const form = cachedForm(found.response, headers['accept-encoding']?.toString())
    const caller = headers.authorization === undefined ? undefined : options.cachedCaller(request)
    if (!form || (headers.authorization !== undefined && !caller)) return undefined
    const address = clientAddress(request, options.trustedProxies)
    const limits = options.limiter.takeLocally(found.limits, address, caller)
    if (!limits) return undefined
    return {
      route: found.route,
      limits,
      headers: headersFor(found.response, form, caller !== undefined),
      text: decode(form),
    }
  }

  function send(
    response: ServerResponse,
    requestId: string,
    settled: NonNullable<ReturnType<typeof settle>>,
  ) {
    const { headers, text } = settled
    const limits = limitFields(settled.limits)
    response.writeHead(200, [
      ...headers,
      'x-request-id',
      requestId,
      'ratelimit-policy',
      limits['ratelimit-policy'],
      'ratelimit',
      limits.ratelimit,
    ])
    // Node sends the head and a string in one write; a buffer would be a second write.
    response.end(text, 'latin1')
  }

  return (request, response) => {
    const startedAt = performance.now()
    const settled = settle(request)
    if (!settled) return void app(request, response)
    const requestId = requestIdFrom(request.headers['x-request-id']?.toString() ?? '')
    const answered = { method: 'GET', route: settled.route, status: 200 }
    const sendAndRecord = () => {
      send(response, requestId, settled)
      record({ ...answered, requestId, startedAt })
    }
    if (options.traces) traceResponse(options.traces, request, { ...answered, send: sendAndRecord })
    else sendAndRecord()
  }
}

/** Decodes the bytes of a form, one per character, as `latin1` encodes them again; cached. */
function cachedText() {
  const texts = new WeakMap<PreparedForm, string>()
  return (form: PreparedForm): string => {
    const text = texts.get(form) ?? form.bytes.toString('latin1')
    texts.set(form, text)
    return text
  }
}

/** Lists header names and values in turn, a form that Node sends without further checks; cached. */
function cachedHeaders(origin: string) {
  const common = { ...commonHeaders(origin), ...READABLE_BY_ALL }
  const cache = {
    anonymous: new WeakMap<PreparedForm, string[]>(),
    authenticated: new WeakMap<PreparedForm, string[]>(),
  }
  return ({ type }: PreparedResponse, form: PreparedForm, hasCaller: boolean): readonly string[] => {
    const cached = hasCaller ? cache.authenticated : cache.anonymous
    const headers =
      cached.get(form) ??
      Object.entries({
        ...common,
        'cache-control': cacheControl(hasCaller),
        ...(form.coding !== 'identity' && { 'content-encoding': form.coding }),
        'content-type': type,
        'content-length': String(form.bytes.length),
        vary: VARIES,
        etag: `"${form.tag}"`,
      }).flat()
    cached.set(form, headers)
    return headers
  }
}
