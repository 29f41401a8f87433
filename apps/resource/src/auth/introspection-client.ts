import type { Metrics } from '@plainpath/http'
import { getTraceHeaders, traceCall } from '@plainpath/tracing'
import type { JWTVerifyGetKey } from 'jose'
import type { RequestAuthorizationServer } from './authorization-server-client.ts'
import {
  AuthorizationServerFailure,
  INTROSPECTION_TYPE,
  type Introspect,
  parseSignedIntrospection,
} from './introspection.ts'
import type { IntrospectionSource } from './revocation-subscriber.ts'
import { createTimeoutSignal } from './send-bounded-request.ts'
import type { WatchedClientSecret } from './watch-client-secret.ts'

const TIMEOUT_MS = 1_000
/** Bounds the introspections in flight. Otherwise they would use up memory when the authorization server hangs. */
const MAX_IN_FLIGHT = 256

/** Creates a client that introspects tokens (RFC 7662 §2.1) and accepts only signed responses (RFC 9701 §4). */
export function createIntrospectionClient(options: {
  readonly requestServer: RequestAuthorizationServer
  /** The OAuth issuer: RESOURCE_ORIGIN. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Pick<WatchedClientSecret, 'current' | 'findAlternative'>
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
  /** The time limit of one introspection; by default a second. */
  readonly timeoutMs?: number | undefined
  /** If set, the person's e-mail address is requested too. */
  readonly claims?: 'email'
  readonly metrics: IntrospectionMetrics
}): Introspect {
  const {
    requestServer,
    issuer,
    clientId,
    clientSecret,
    keys,
    now,
    metrics,
    timeoutMs = TIMEOUT_MS,
  } = options
  const expected = { issuer, audience: clientId, keys, now }

  function introspectWith(secret: string, token: string, signal: AbortSignal) {
    const headers = {
      accept: INTROSPECTION_TYPE,
      authorization: formatBasicCredentials(clientId, secret),
      'content-type': 'application/x-www-form-urlencoded',
      ...getTraceHeaders(),
    }
    const form = {
      token,
      token_type_hint: 'access_token',
      ...(options.claims && { claims: options.claims }),
    }
    const body = new URLSearchParams(form).toString()
    return requestServer('/oauth/introspect', { method: 'POST', headers, body, signal })
  }

  async function introspect(token: string, signal: AbortSignal) {
    const secret = clientSecret.current()
    let response = await introspectWith(secret, token, signal)
    const otherSecret = response.status === 401 ? await clientSecret.findAlternative(secret) : undefined
    if (otherSecret !== undefined) response = await introspectWith(otherSecret, token, signal)
    const { status, type, text } = response
    if (status !== 200 || type !== INTROSPECTION_TYPE)
      throw new AuthorizationServerFailure(`the response to an introspection was ${status} ${type}`)
    return parseSignedIntrospection(text, token, expected)
  }

  let inFlightCount = 0
  const changeInFlightCount = (change: 1 | -1) => {
    inFlightCount += change
    metrics.setInFlight(options.claims ?? 'token', inFlightCount)
  }
  return async (token) => {
    if (inFlightCount >= MAX_IN_FLIGHT)
      throw new AuthorizationServerFailure('too many introspections in flight')
    changeInFlightCount(1)
    metrics.countSent()
    using timeout = createTimeoutSignal(timeoutMs)
    const { signal } = timeout
    try {
      return await traceCall(describeCall, () =>
        Promise.race([introspect(token, signal), rejectOnAbort(signal)]),
      )
    } catch (cause) {
      metrics.countFailure()
      if (cause instanceof AuthorizationServerFailure) throw cause
      throw new AuthorizationServerFailure('introspection failed', { cause })
    } finally {
      changeInFlightCount(-1)
    }
  }
}

const TRACED_CALL = {
  name: 'introspect',
  attributes: { 'http.request.method': 'POST', 'url.template': '/oauth/introspect' },
}
const describeCall = () => TRACED_CALL

/** Formats HTTP Basic credentials. RFC 6749 §2.3.1 requires both parts to be form-encoded first. */
function formatBasicCredentials(clientId: string, clientSecret: string): string {
  const encodePart = (part: string) => new URLSearchParams({ part }).toString().slice('part='.length)
  return `Basic ${Buffer.from(`${encodePart(clientId)}:${encodePart(clientSecret)}`).toString('base64')}`
}

/** Rejects when the signal is aborted. Needed because fetching the keys has its own time-out and ignores the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

export interface IntrospectionMetrics {
  /** Counts from where a request gets the introspection of its token. */
  countSource(source: IntrospectionSource['from']): void
  /** Counts an introspection that was sent to the authorization server. */
  countSent(): void
  /** Sets the number of introspections in flight, without the e-mail address (`token`) or with it (`email`). */
  setInFlight(kind: 'token' | 'email', total: number): void
  /** Counts an introspection without a valid response. */
  countFailure(): void
}

/** Registers the introspection metrics. */
export function createIntrospectionMetrics(
  metrics: Pick<Metrics, 'createCounter' | 'createSampledGauge'>,
): IntrospectionMetrics {
  const countBySource: Record<IntrospectionSource['from'], () => void> = {
    cache: metrics.createCounter('introspection_cache_hits_total', 'Tokens whose introspection was cached'),
    shared: metrics.createCounter(
      'introspection_cache_shared_total',
      'Tokens whose introspection was in flight',
    ),
    new: metrics.createCounter(
      'introspection_cache_misses_total',
      'Tokens that were introspected under a lease',
    ),
    uncached: metrics.createCounter(
      'introspection_cache_bypassed_total',
      'Tokens that were introspected because no lease was valid',
    ),
  }
  const inFlight = { token: 0, email: 0 }
  metrics.createSampledGauge(
    'introspections_under_way',
    `Introspections in flight, of a token and of its e-mail address; ${MAX_IN_FLIGHT} of each at most`,
    'about',
    () => inFlight,
  )
  return {
    countSource: (source) => countBySource[source](),
    countSent: metrics.createCounter(
      'introspections_total',
      'Introspections that were sent to the authorization server',
    ),
    setInFlight(kind, total) {
      inFlight[kind] = total
    },
    countFailure: metrics.createCounter(
      'authorization_server_failures_total',
      'Introspections without a valid response',
    ),
  }
}
