import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Limiter } from '../limits/limiter.ts'
import { limitFields } from '../limits/limiter.ts'
import { type TraceRequestsOptions, traceAnswer } from '../observability/trace-requests.ts'
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
  knownForm,
  type PreparedForm,
  type PreparedResponse,
  VARIES,
} from './prepared-response.ts'
import type { Caller, RouteLimits } from './route.ts'

/** What a public GET is answered with, when that is in memory. */
export interface FastPathResponse {
  /** The path of its route, such as `/guides/{slug}`. */
  readonly route: string
  readonly limits: RouteLimits
  readonly answer: PreparedResponse
}

export interface FastPathOptions extends RequestContextOptions {
  readonly alsoAcceptHosts?: readonly string[]
  readonly limiter: Limiter
  readonly traces?: TraceRequestsOptions | undefined
  /** Undefined for what has to be looked at more closely. @param target as it was sent, with its query */
  find(target: string, accept: string | undefined): FastPathResponse | undefined
  /** Who sends a token that is known here to be good; undefined for whatever else is in `Authorization`. */
  cachedCaller(request: IncomingMessage): Caller | undefined
}

/** Of what changes the answer, or is not read here. */
const UNUSUAL = [...CONDITIONS, 'content-length', 'transfer-encoding', 'expect', 'upgrade']

/**
 * Answers plain public GETs at once, where answer, limits and token are all in this process's memory, with the very answer
 * that `usual` gives; all else is `usual`'s. Nothing here waits, and nothing is refused here: what could be refused is
 * passed on before anything is taken. It is what makes a read cheap: Koa and its middleware take several times as long.
 */
export function fastPath(usual: RequestHandler, options: FastPathOptions): RequestHandler {
  const hosts = acceptedHosts(options.origin, options.alsoAcceptHosts)
  const tell = responseRecorder(options)
  const fieldsOf = fieldsOnce(options.origin)
  const textOf = textOnce()

  function settle(request: IncomingMessage) {
    const { method, url = '', headers } = request
    if (method !== 'GET' || UNUSUAL.some((name) => headers[name] !== undefined)) return undefined
    const [host = '', otherHost] = headersNamed(request, 'host')
    const found = options.find(url, headers.accept)
    if (!found || otherHost !== undefined || !hosts.has(host.toLowerCase())) return undefined
    const form = knownForm(found.answer, headers['accept-encoding']?.toString())
    const caller = headers.authorization === undefined ? undefined : options.cachedCaller(request)
    if (!form || (headers.authorization !== undefined && !caller)) return undefined
    const address = clientAddress(request, options.trustedProxies)
    const spent = options.limiter.takeLocally(found.limits, address, caller?.clientId)
    if (!spent) return undefined
    const fields = fieldsOf(found.answer, form, caller !== undefined)
    return { route: found.route, spent, fields, text: textOf(form) }
  }

  function send(
    response: ServerResponse,
    requestId: string,
    settled: NonNullable<ReturnType<typeof settle>>,
  ) {
    const { fields, spent, text } = settled
    const limits = limitFields(spent)
    response.writeHead(200, [
      ...fields,
      'x-request-id',
      requestId,
      'ratelimit-policy',
      limits['ratelimit-policy'],
      'ratelimit',
      limits.ratelimit,
    ])
    // Node joins its head to a text; beside bytes it sends it as a buffer of its own.
    response.end(text, 'latin1')
  }

  return (request, response) => {
    const startedAt = performance.now()
    const settled = settle(request)
    if (!settled) return void usual(request, response)
    const requestId = requestIdFrom(request.headers['x-request-id']?.toString() ?? '')
    const answer = { method: 'GET', route: settled.route, status: 200 }
    const give = () => {
      send(response, requestId, settled)
      tell({ ...answer, requestId, startedAt })
    }
    if (options.traces) traceAnswer(options.traces, request, { ...answer, give })
    else give()
  }
}

/** The bytes of a form, one a character, as `latin1` sends them. */
function textOnce() {
  const made = new WeakMap<PreparedForm, string>()
  return (form: PreparedForm): string => {
    const text = made.get(form) ?? form.bytes.toString('latin1')
    made.set(form, text)
    return text
  }
}

/** Names and values in turn, as Node sends them without looking at each again. */
function fieldsOnce(origin: string) {
  const ofEvery = { ...commonHeaders(origin), ...READABLE_BY_ALL }
  const made = {
    anonymous: new WeakMap<PreparedForm, string[]>(),
    known: new WeakMap<PreparedForm, string[]>(),
  }
  return ({ type }: PreparedResponse, form: PreparedForm, hasCaller: boolean): readonly string[] => {
    const kept = hasCaller ? made.known : made.anonymous
    const fields =
      kept.get(form) ??
      Object.entries({
        ...ofEvery,
        'cache-control': cacheControl(hasCaller),
        ...(form.coding !== 'identity' && { 'content-encoding': form.coding }),
        'content-type': type,
        'content-length': String(form.bytes.length),
        vary: VARIES,
        etag: `"${form.tag}"`,
      }).flat()
    kept.set(form, fields)
    return fields
  }
}
