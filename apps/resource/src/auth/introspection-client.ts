import type { Metrics } from '@plainpath/http'
import { traced, traceHeaders } from '@plainpath/tracing'
import type { JWTVerifyGetKey } from 'jose'
import type { AskAuthorizationServer } from './ask-authorization-server.ts'
import type { FollowedClientSecret } from './client-secret.ts'
import {
  ANSWER_TYPE,
  AuthorizationServerFailure,
  type Introspect,
  readSignedAnswer,
} from './introspection.ts'
import { timeOut } from './request-bounded.ts'
import type { Asked } from './revocation-member.ts'

const TIMEOUT_MS = 1_000
/** More at once than this are refused: an authorization server that hangs must not fill this process. */
const MAX_AT_ONCE = 256

/** Introspects at the authorization server (RFC 7662 §2.1) and accepts signed answers only (RFC 9701 §4). */
export function introspectionClient(options: {
  readonly askServer: AskAuthorizationServer
  /** The OAuth issuer, which is ORIGIN. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Pick<FollowedClientSecret, 'current' | 'insteadOf'>
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
  /** How long an answer may take; a second when absent. */
  readonly timeoutMs?: number | undefined
  /** Asks for the address of the person too. */
  readonly claims?: 'email'
  readonly metrics: IntrospectionMetrics
}): Introspect {
  const { askServer, issuer, clientId, clientSecret, keys, now, metrics, timeoutMs = TIMEOUT_MS } = options
  const expected = { issuer, audience: clientId, keys, now }

  function askAs(secret: string, token: string, signal: AbortSignal) {
    const headers = {
      accept: ANSWER_TYPE,
      authorization: basicCredentials(clientId, secret),
      'content-type': 'application/x-www-form-urlencoded',
      ...traceHeaders(),
    }
    const asked = {
      token,
      token_type_hint: 'access_token',
      ...(options.claims && { claims: options.claims }),
    }
    const body = new URLSearchParams(asked).toString()
    return askServer('/oauth/introspect', { method: 'POST', headers, body, signal })
  }

  async function ask(token: string, signal: AbortSignal) {
    const secret = clientSecret.current()
    let answer = await askAs(secret, token, signal)
    const other = answer.status === 401 ? await clientSecret.insteadOf(secret) : undefined
    if (other !== undefined) answer = await askAs(other, token, signal)
    if (answer.status !== 200 || answer.type !== ANSWER_TYPE)
      throw new AuthorizationServerFailure(`introspection was answered ${answer.status} ${answer.type}`)
    return readSignedAnswer(answer.text, token, expected)
  }

  let asking = 0
  const count = (change: 1 | -1) => {
    asking += change
    metrics.underWay(options.claims ?? 'token', asking)
  }
  return async (token) => {
    if (asking >= MAX_AT_ONCE) throw new AuthorizationServerFailure('too many introspections at once')
    count(1)
    metrics.sent()
    using bound = timeOut(timeoutMs)
    const { signal } = bound
    try {
      return await traced(introspectionCall, () => Promise.race([ask(token, signal), rejection(signal)]))
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

/** The keys have a time-out of their own; both together must still end with the signal. */
function rejection(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

/** Counts how answers about tokens were had, and shows whether those in memory may be used. */
export function introspectionMetrics(metrics: Pick<Metrics, 'counter' | 'gauge' | 'sampled'>) {
  const count: Record<Asked['how'], () => void> = {
    kept: metrics.counter('introspection_cache_hits_total', 'Tokens whose answer was in memory'),
    shared: metrics.counter('introspection_cache_shared_total', 'Tokens whose look-up was under way'),
    new: metrics.counter('introspection_cache_misses_total', 'Tokens that were introspected under a lease'),
    alone: metrics.counter(
      'introspection_cache_bypassed_total',
      'Tokens that were introspected since no lease was valid',
    ),
  }
  const lease = metrics.gauge('revocation_lease_valid', '1 when answers in memory may be used')
  lease(0)
  const underWay = { token: 0, email: 0 }
  metrics.sampled(
    'introspections_under_way',
    `Introspections without an answer yet, of a token and of its e-mail address; ${MAX_AT_ONCE} of each at most`,
    'about',
    () => underWay,
  )
  return {
    asked: (how: Asked['how']) => count[how](),
    sent: metrics.counter(
      'introspections_total',
      'Introspections that were sent to the authorization server',
    ),
    /** How many introspections have no answer yet. */
    underWay(about: keyof typeof underWay, now: number) {
      underWay[about] = now
    },
    lease: (valid: boolean) => lease(valid ? 1 : 0),
    /** An answer was missing, or could not be believed. */
    failed: metrics.counter(
      'authorization_server_failures_total',
      'Introspections without an answer that can be believed',
    ),
  }
}

export type IntrospectionMetrics = ReturnType<typeof introspectionMetrics>
