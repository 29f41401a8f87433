import type { IncomingMessage } from 'node:http'
import { ANONYMOUS_SCOPES } from '@plainpath/domain'
import { bySoundClock, type Caller, type ProblemCode, type WatchedClock } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { bearerToken } from './bearer-header.ts'
import { bearerRefusal } from './bearer-refusal.ts'
import type { Introspect } from './introspection.ts'
import type { ActiveAnswer } from './kept-answers.ts'
import { needsVerifiedEmail } from './verified-person.ts'

const OPTIONAL = 'This operation works without Authorization.'

/**
 * Checks the bearer token of a request against the authorization server.
 *
 * @param deps.clock by a wrong one nothing is said of tokens
 * @param deps.now an answer that says `active` is not believed past its `exp`
 * @throws {Problem} 401 or 403 with a challenge, 400 for several Authorization headers; and what `introspect` throws
 *   when the authorization server gives no usable answer
 */
export function bearerCheck(deps: {
  introspect: Introspect
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'requireSound'>
  now: () => Date
}) {
  const check = async (ctx: Context, scopes: readonly string[]): Promise<Caller> => {
    const refuse = refusals(deps.urls, scopes)
    const token = bearerToken(ctx.req)
    if (!token.ok) {
      if (token.error === 'none') throw refuse.missing('Send a bearer token.')
      if (token.error === 'another-scheme') throw refuse.missing('Only the scheme Bearer is known here.')
      if (token.error === 'several') throw refuse.ambiguous('Send one Authorization header.')
      throw refuse.invalid('The token does not look like one of ours: ppt_ and 43 more characters.')
    }
    const answer = await deps.introspect(token.value)
    if (!answer.active) throw refuse.invalid('The token is unknown, expired or revoked.')
    if (!answer.audience.includes(deps.urls.base)) throw refuse.invalid('The token is for another service.')
    if (answer.expiresAt <= deps.now()) throw refuse.invalid('The token has expired.')
    if (!scopes.every((scope) => answer.scopes.has(scope))) throw refuse.insufficient()
    return callerOf(answer)
  }
  return (ctx: Context, scopes: readonly string[]) => bySoundClock(deps.clock, () => check(ctx, scopes))
}

/**
 * Who sends the token of a request for a public route, when what is in memory says that it is good. Undefined says nothing:
 * `bearerCheck` then judges.
 */
export function knownBearer(deps: {
  known: (token: string) => ActiveAnswer | undefined
  urls: ServiceUrls
  now: () => Date
}) {
  return (request: IncomingMessage): Caller | undefined => {
    const token = bearerToken(request)
    const answer = token.ok ? deps.known(token.value) : undefined
    if (!answer?.audience.includes(deps.urls.base) || answer.expiresAt <= deps.now()) return undefined
    return callerOf(answer)
  }
}

const callerOf = ({ clientId, scopes, registrationId }: ActiveAnswer): Caller => ({
  clientId,
  scopes,
  ...(registrationId !== undefined && { registrationId }),
})

/** How to get a scope that registering alone does not give. */
const lacking = (urls: ServiceUrls, scopes: readonly string[]) =>
  `The token lacks the scope ${scopes.join(' ')}.${scopes.includes('contact:write') ? ` ${needsVerifiedEmail(urls)}` : ''}`

/** The refusals of one route; `scopes` is empty where a token is optional. */
function refusals(urls: ServiceUrls, scopes: readonly string[]) {
  const optional = scopes.length === 0
  const refusal = bearerRefusal(urls, optional ? ANONYMOUS_SCOPES : scopes)
  const unauthorized = (code: ProblemCode, detail: string, error?: 'invalid_token') =>
    refusal(code, `${detail} Get a token at ${urls.token}.${optional ? ` ${OPTIONAL}` : ''}`, error)
  return {
    missing: (detail: string) => unauthorized(optional ? 'invalid-token' : 'token-required', detail),
    invalid: (detail: string) => unauthorized('invalid-token', detail, 'invalid_token'),
    ambiguous: (detail: string) => refusal('invalid-request', detail, 'invalid_request'),
    insufficient: () => refusal('insufficient-scope', lacking(urls, scopes), 'insufficient_scope'),
  }
}

/**
 * Refuses a token in the query, on every route: it has already reached logs and histories on its way
 * (RFC 6750 §2.3, RFC 9700 §4.3.2).
 */
export function refuseTokenInQuery(urls: ServiceUrls) {
  return async (ctx: Context, next: () => Promise<unknown>): Promise<void> => {
    if (ctx.querystring && new URLSearchParams(ctx.querystring).has('access_token')) {
      throw refusals(urls, []).ambiguous(
        'Send the token in the Authorization header, never in the address. Revoke this one: it may have been logged.',
      )
    }
    await next()
  }
}
