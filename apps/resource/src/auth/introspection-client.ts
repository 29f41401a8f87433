import type { JWTVerifyGetKey } from 'jose'
import { fetchBounded } from './fetch-bounded.ts'
import { AuthorizationServerFailure, type Introspect } from './introspection.ts'
import { ANSWER_TYPE, readSignedAnswer } from './signed-answer.ts'

export interface IntrospectionClientOptions {
  /** The internal listener of the authorization server, such as `http://auth:8091`. */
  readonly authUrl: string
  /** The OAuth issuer, which is ORIGIN. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
  /** Told of each answer that was missing or could not be believed. */
  readonly onFailure?: () => void
}

const TIMEOUT_MS = 1_000
/** More at once than this are refused: an authorization server that hangs must not fill this process. */
const MAX_AT_ONCE = 256

/** Introspects at the authorization server (RFC 7662 §2.1) and accepts signed answers only (RFC 9701 §4). */
export function introspectionClient(options: IntrospectionClientOptions): Introspect {
  const { authUrl, issuer, clientId, clientSecret, keys, now } = options
  const headers = {
    accept: ANSWER_TYPE,
    authorization: basicCredentials(clientId, clientSecret),
    'content-type': 'application/x-www-form-urlencoded',
  }
  const expected = { issuer, audience: clientId, keys, now }

  async function ask(token: string, signal: AbortSignal) {
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
    const answer = await fetchBounded(`${authUrl}/oauth/introspect`, {
      method: 'POST',
      headers,
      body,
      signal,
    })
    if (answer.status !== 200 || answer.type !== ANSWER_TYPE)
      throw new AuthorizationServerFailure(`introspection was answered ${answer.status} ${answer.type}`)
    return readSignedAnswer(answer.text, token, expected)
  }

  let asking = 0
  return async (token) => {
    if (asking >= MAX_AT_ONCE) throw new AuthorizationServerFailure('too many introspections at once')
    asking += 1
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    try {
      return await Promise.race([ask(token, signal), rejection(signal)])
    } catch (cause) {
      options.onFailure?.()
      if (cause instanceof AuthorizationServerFailure) throw cause
      throw new AuthorizationServerFailure('introspection failed', { cause })
    } finally {
      asking -= 1
    }
  }
}

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
