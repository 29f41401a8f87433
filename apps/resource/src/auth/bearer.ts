import type { IncomingMessage } from 'node:http'
import { ANONYMOUS_SCOPES, err, ok, type Result } from '@plainpath/domain'
import {
  type Caller,
  headersNamed,
  Problem,
  type ProblemCode,
  type RequestFacts,
  rateLimited,
  type WatchedClock,
  withSynchronisedClock,
} from '@plainpath/http'
import { operations, protectedResourceAt, type ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { IntrospectionLimited } from './guard-introspection.ts'
import type { ActiveIntrospection, ConfirmedAgent, Introspect, IntrospectFor } from './introspection.ts'

/** `none`: no Authorization header; `another-scheme`: not Bearer; `malformed`: no token of ours follows. */
type NoToken = 'none' | 'several' | 'another-scheme' | 'malformed'

/** Tokens of the authorization server; anything else is known to be invalid without asking it. */
const ACCESS_TOKEN = /^ppt_[A-Za-z0-9_-]{43}$/

/** The access token in the Authorization header (RFC 6750 §2.1). */
export function bearerToken(request: Pick<IncomingMessage, 'rawHeaders'>): Result<string, NoToken> {
  const [header, ...more] = headersNamed(request, 'authorization')
  if (header === undefined) return err('none')
  if (more.length > 0) return err('several')
  if (!/^bearer(?=\s|$)/i.test(header)) return err('another-scheme')
  const token = header.replace(/^bearer +/i, '')
  return ACCESS_TOKEN.test(token) ? ok(token) : err('malformed')
}

const UNKNOWN = 'The token is unknown, expired or revoked.'
const LIMITED =
  'Too many tokens from this address were unknown, expired or revoked, or are being checked now.'
const OPTIONAL = 'This operation works without Authorization.'
/** The confirmation of a person may have ended with the token. */
const RENEWAL =
  "If the token was for messages, get an identity assertion with POST /api/agent/assertion first. If that responds no-claim, the person's confirmation has ended: do not ask them again on your own."

/**
 * Checks the bearer token of a request against the authorization server.
 *
 * @param deps.clock by a wrong one nothing is said of tokens
 * @param deps.now an answer that says `active` is not believed past its `exp`
 * @throws {Problem} 401 or 403 with a challenge, 400 for several Authorization headers, 429 where a limit keeps the token
 *   from being checked; and what `introspect` throws
 *   when the authorization server gives no usable answer
 */
export function bearerCheck(deps: {
  introspect: IntrospectFor
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'requireSynchronised'>
  now: () => Date
}) {
  const introspectFor = async (ctx: Context, token: string) => {
    try {
      return await deps.introspect(token, String(ctx.state['address']))
    } catch (error) {
      if (error instanceof IntrospectionLimited) throw rateLimited(error.state, LIMITED)
      throw error
    }
  }
  const check = async (ctx: Context, scopes: readonly string[]): Promise<Caller> => {
    const refuse = refusals(deps.urls, scopes, ctx.path)
    const token = bearerToken(ctx.req)
    if (!token.ok) {
      if (token.error === 'none') throw refuse.missing('Send a bearer token.')
      if (token.error === 'another-scheme') throw refuse.missing('Only the scheme Bearer is known here.')
      if (token.error === 'several') throw refuse.ambiguous('Send one Authorization header.')
      throw refuse.invalid('The token does not look like one of ours: ppt_ and 43 more characters.')
    }
    const answer = await introspectFor(ctx, token.value)
    if (!answer.active) throw refuse.invalid(UNKNOWN)
    const fault = faultOf(answer, deps)
    if (fault) throw refuse.invalid(fault)
    if (!scopes.every((scope) => answer.scopes.has(scope))) throw refuse.insufficient()
    return callerOf(answer)
  }
  return (ctx: Context, scopes: readonly string[]) =>
    withSynchronisedClock(deps.clock, () => check(ctx, scopes))
}

/**
 * Finds the caller of a request for a public route from the introspection cache. When it returns undefined, call
 * `bearerCheck`.
 */
export function cachedBearer(deps: {
  findCached: (token: string) => ActiveIntrospection | undefined
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'isSynchronised'>
  now: () => Date
}) {
  return (request: Pick<IncomingMessage, 'rawHeaders'>): Caller | undefined => {
    const token = bearerToken(request)
    const answer = token.ok && deps.clock.isSynchronised() ? deps.findCached(token.value) : undefined
    return answer && !faultOf(answer, deps) ? callerOf(answer) : undefined
  }
}

/** Why a token that is active is not good here and now. Every path asks this, from memory or not. */
function faultOf(answer: ActiveIntrospection, { urls, now }: { urls: ServiceUrls; now: () => Date }) {
  if (!answer.audience.includes(urls.base)) return 'The token is for another service.'
  return answer.expiresAt <= now() ? 'The token has expired.' : undefined
}

const callerOf = ({ clientId, scopes, registrationId }: ActiveIntrospection): Caller => ({
  clientId,
  scopes,
  ...(registrationId !== undefined && { registrationId }),
})

/**
 * The refusals of one route, with a challenge that names its scopes; they are empty where a token is optional.
 *
 * @param path of the request, which decides the metadata that the challenge names
 */
function refusals(urls: ServiceUrls, scopes: readonly string[], path: string) {
  const optional = scopes.length === 0
  const scope = optional ? ANONYMOUS_SCOPES : scopes
  const refuse = (code: ProblemCode, detail: string, error?: Challenge['error']): Problem => {
    const challenge = { scope, resourceMetadata: protectedResourceAt(urls, path), ...(error && { error }) }
    return new Problem(code, { detail, headers: { 'www-authenticate': bearerChallenge(challenge) } })
  }
  const unauthorized = (code: ProblemCode, detail: string, error?: 'invalid_token', more = '') =>
    refuse(code, `${detail} Get a token at ${urls.token}.${optional ? ` ${OPTIONAL}` : ''}${more}`, error)
  const isForContact = scopes.includes(CONTACT_SCOPE)
  /** The same for every invalid token, so that it does not tell a stranger whose token it was. */
  const renewal = isForContact ? ` ${RENEWAL}` : ''
  /** How to get a scope that registering alone does not give. */
  const more = isForContact ? ` ${needsVerifiedEmail(urls)}` : ''
  const lacking = `The token lacks the scope ${scopes.join(' ')}.${more}`
  return {
    /** Without a token. @param detail says all */
    required: (detail: string) => refuse('token-required', detail),
    missing: (detail: string) => unauthorized(optional ? 'invalid-token' : 'token-required', detail),
    invalid: (detail: string) => unauthorized('invalid-token', detail, 'invalid_token', renewal),
    ambiguous: (detail: string) => refuse('invalid-request', detail, 'invalid_request'),
    insufficient: (detail = lacking) => refuse('insufficient-scope', detail, 'insufficient_scope'),
  }
}

/**
 * Who stands behind the token of a request: the registration, the address that the person verified, and their agent.
 *
 * @throws {Problem} 401 or 403 with a challenge; and what introspection throws
 */
export type VerifiedPerson = (
  request: Pick<RequestFacts, 'header'>,
) => Promise<{ registrationId: string; email: string; agent: ConfirmedAgent | undefined }>

const CONTACT_SCOPE = 'contact:write'

/** @param deps.introspectWithEmail asks anew each time: the address is kept nowhere */
export function verifiedPerson(deps: {
  introspectWithEmail: Introspect
  urls: ServiceUrls
  now: () => Date
}): VerifiedPerson {
  const { urls } = deps
  const refuse = refusals(urls, [CONTACT_SCOPE], operations.sendContactMessage.path)
  return async (request) => {
    const token = /^bearer +(ppt_[A-Za-z0-9_-]{43})$/i.exec(request.header('authorization'))?.[1]
    if (token === undefined) throw refuse.required(needsVerifiedEmail(urls))
    const answer = await deps.introspectWithEmail(token)
    if (!answer.active || faultOf(answer, deps)) throw refuse.invalid(UNKNOWN)
    const { email, scopes, identityType } = answer
    if (!scopes.has(CONTACT_SCOPE) || identityType !== 'verified_email' || email === undefined)
      throw refuse.insufficient(needsVerifiedEmail(urls))
    return { registrationId: answer.registrationId ?? answer.clientId, email, agent: answer.agent }
  }
}

/** Says how to get the scope. */
const needsVerifiedEmail = (urls: ServiceUrls) =>
  `${CONTACT_SCOPE} needs the verified_email flow: the person verifies their e-mail address. ${urls.authVerifiedEmail} leads through it. If a person confirmed you before and that has ended, ask again only if they tell you to.`

/**
 * Checks that a caller of the MCP server may use the tools for messages, as `bearerCheck` does on their routes.
 *
 * @throws {Problem} 401 without a token and 403 without the scope, with a challenge
 */
export function requireContactScope(caller: Caller | undefined, urls: ServiceUrls): Caller {
  const refuse = refusals(urls, [CONTACT_SCOPE], new URL(urls.mcp).pathname)
  if (!caller) throw refuse.required(needsVerifiedEmail(urls))
  if (!caller.scopes.has(CONTACT_SCOPE)) throw refuse.insufficient(needsVerifiedEmail(urls))
  return caller
}

/**
 * Refuses a token in the query, on every route: it has already reached logs and histories on its way
 * (RFC 6750 §2.3, RFC 9700 §4.3.2).
 */
export function refuseTokenInQuery(urls: ServiceUrls) {
  return async (ctx: Context, next: () => Promise<unknown>): Promise<void> => {
    if (ctx.querystring && new URLSearchParams(ctx.querystring).has('access_token')) {
      throw refusals(urls, [], ctx.path).ambiguous(
        'Send the token in the Authorization header, never in the address. Revoke this one: it may have been logged.',
      )
    }
    await next()
  }
}

/** Parameters of a Bearer challenge (RFC 6750 §3, RFC 9728 §5.1). */
interface Challenge {
  /** Left out when no credentials were sent (RFC 6750 §3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope'
  readonly scope: readonly string[]
  readonly resourceMetadata: string
}

/** The value of `WWW-Authenticate`: one challenge, every parameter quoted. */
export function bearerChallenge({ error, scope, resourceMetadata }: Challenge): string {
  const parameters = {
    realm: 'plainpath',
    ...(error && { error }),
    scope: scope.join(' '),
    resource_metadata: resourceMetadata,
  }
  const written = Object.entries(parameters).map(([name, value]) => `${name}="${printable(value)}"`)
  return `Bearer ${written.join(', ')}`
}

/** RFC 6750 §3 allows neither `"` nor `\` nor anything but printable ASCII in these values. */
const printable = (value: string) => value.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
