import type { Metrics } from '@plainpath/http'
import { traced, traceHeaders } from '@plainpath/tracing'
import type { JWTVerifyGetKey } from 'jose'
import type { RequestAuthorizationServer } from './authorization-server-client.ts'
import {
  AuthorizationServerFailure,
  INTROSPECTION_TYPE,
  type Introspect,
  parseSignedIntrospection,
} from './introspection.ts'
import { timeoutSignal } from './request-bounded.ts'
import type { Source } from './revocation-subscriber.ts'
import type { WatchedClientSecret } from './watch-client-secret.ts'

const TIMEOUT_MS = 1_000
/** Limits the introspections in flight, so that an authorization server that hangs cannot fill this process. */
const MAX_IN_FLIGHT = 256

/** Introspects at the authorization server (RFC 7662 §2.1), and accepts only signed responses (RFC 9701 §4). */
export function introspectionClient(options: {
  readonly requestServer: RequestAuthorizationServer
  /** The OAuth issuer, which is ORIGIN. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Pick<WatchedClientSecret, 'current' | 'alternativeTo'>
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
  /** The time limit of one introspection; a second when absent. */
  readonly timeoutMs?: number | undefined
  /** Requests the person's e-mail address, too. */
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
      authorization: basicCredentials(clientId, secret),
      'content-type': 'application/x-www-form-urlencoded',
      ...traceHeaders(),
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
    const other = response.status === 401 ? await clientSecret.alternativeTo(secret) : undefined
    if (other !== undefined) response = await introspectWith(other, token, signal)
    const { status, type, text } = response
    if (status !== 200 || type !== INTROSPECTION_TYPE)
      throw new AuthorizationServerFailure(`the response to an introspection was ${status} ${type}`)
    return parseSignedIntrospection(text, token, expected)
  }

  let inFlight = 0
  const count = (change: 1 | -1) => {
    inFlight += change
    metrics.inFlight(options.claims ?? 'token', inFlight)
  }
  return async (token) => {
    if (inFlight >= MAX_IN_FLIGHT) throw new AuthorizationServerFailure('too many introspections in flight')
    count(1)
    metrics.sent()
    using timeout = timeoutSignal(timeoutMs)
    const { signal } = timeout
    try {
      return await traced(introspectionCall, () =>
        Promise.race([introspect(token, signal), rejectOnAbort(signal)]),
      )
    } catch (cause) {
      metrics.failed()
      if (cause instanceof AuthorizationServerFailure) throw cause
      throw new AuthorizationServerFailure('introspection failed', { cause })
    } finally {
      count(-1)
    }
  }
}

const CALL = {
  name: 'introspect',
  attributes: { 'http.request.method': 'POST', 'url.template': '/oauth/introspect' },
}
const introspectionCall = () => CALL

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials(clientId: string, clientSecret: string): string {
  const encoded = (part: string) => new URLSearchParams({ part }).toString().slice('part='.length)
  return `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString('base64')}`
}

/** Fetching the keys has a timeout of its own; this makes the whole introspection end with the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

/** Metrics of where introspections came from, and whether the lease is valid. */
export function introspectionMetrics(metrics: Pick<Metrics, 'counter' | 'gauge' | 'sampled'>) {
  const count: Record<Source['from'], () => void> = {
    cache: metrics.counter('introspection_cache_hits_total', 'Tokens whose introspection was cached'),
    shared: metrics.counter('introspection_cache_shared_total', 'Tokens whose introspection was in flight'),
    new: metrics.counter('introspection_cache_misses_total', 'Tokens that were introspected under a lease'),
    uncached: metrics.counter(
      'introspection_cache_bypassed_total',
      'Tokens that were introspected because no lease was valid',
    ),
  }
  const lease = metrics.gauge('revocation_lease_valid', '1 when cached introspections may be used')
  lease(0)
  const inFlight = { token: 0, email: 0 }
  metrics.sampled(
    'introspections_under_way',
    `Introspections in flight, of a token and of its e-mail address; ${MAX_IN_FLIGHT} of each at most`,
    'about',
    () => inFlight,
  )
  return {
    source: (from: Source['from']) => count[from](),
    sent: metrics.counter(
      'introspections_total',
      'Introspections that were sent to the authorization server',
    ),
    /** Sets the number of introspections in flight. */
    inFlight(about: keyof typeof inFlight, total: number) {
      inFlight[about] = total
    },
    lease: (valid: boolean) => lease(valid ? 1 : 0),
    /** Counts an introspection without a valid response. */
    failed: metrics.counter('authorization_server_failures_total', 'Introspections without a valid response'),
  }
}

export type IntrospectionMetrics = ReturnType<typeof introspectionMetrics>
