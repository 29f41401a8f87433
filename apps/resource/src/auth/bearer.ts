import type { IncomingMessage } from 'node:http'
import { ANONYMOUS_SCOPES } from '@plainpath/domain'
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
import { audienceAt, protectedResourceAt, type ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { type Challenge, formatChallenge } from './challenge.ts'
import { proofVerifier, type ReadProof, readProof } from './dpop-proof.ts'
import { IntrospectionLimited } from './guard-introspection.ts'
import type { ActiveIntrospection, ConfirmedAgent, Introspect, IntrospectFor } from './introspection.ts'
import { presentedToken, type TokenScheme } from './presented-token.ts'
import type { UsedProofs } from './used-proofs.ts'

const UNKNOWN = 'The token is unknown, expired or revoked.'
const LIMITED =
  'Too many tokens from this address were unknown, expired or revoked, or are being checked now.'
const OPTIONAL = 'This operation works without Authorization.'
/** The confirmation of a person may have ended with the token. */
const RENEWAL =
  "If the token was for messages, get an identity assertion with POST /api/agent/assertion first. If that responds no-claim, the person's confirmation has ended: do not ask them again on your own."

const BOUND =
  'The token is bound to a key: send it as Authorization: DPoP, with a proof of this request in the header DPoP (RFC 9449).'
const USED =
  'A request with this proof was received before: make a new proof, with its own jti, for each request.'
const UNBOUND = 'The token is not bound to a key: send it as Authorization: Bearer, without the header DPoP.'

/**
 * Checks the access token of a request against the authorization server, and the DPoP proof that comes with a bound token.
 * `useProof` must follow, after the limits of the client.
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
  /** Everything about a proof that can be checked without the token's introspection. */
  const requireProof = (ctx: Context, token: string, refuse: ReturnType<typeof refusals>): ReadProof => {
    const request = { token, method: ctx.method, url: `${deps.urls.origin}${ctx.path}` }
    const proof = readProof(headersNamed(ctx.req, 'dpop'), request, deps.now())
    if (!proof.ok) throw refuse.proof(proof.error)
    return proof.value
  }
  const verifyProof = proofVerifier()
  const callerWithProof = async (
    ctx: Context,
    answer: ActiveIntrospection,
    { proof, scopes }: { proof: ReadProof | undefined; scopes: readonly string[] },
  ): Promise<Caller> => {
    const refuse = refusals(deps.urls, scopes, ctx.path, 'DPoP')
    const { jkt } = answer
    if (jkt === undefined) {
      if (headersNamed(ctx.req, 'dpop').length > 0 || proof) throw refuse.scheme(UNBOUND)
      return callerOf(answer)
    }
    if (!proof) throw refuse.scheme(BOUND)
    const mistake = await verifyProof(proof, jkt, deps.now())
    if (mistake !== undefined) throw refuse.proof(mistake)
    return { ...callerOf(answer), proof: { jkt, jti: proof.jti, iat: proof.iat } }
  }
  const check = async (ctx: Context, scopes: readonly string[]): Promise<Caller> => {
    const presented = presentedToken(ctx.req)
    const refuse = refusals(deps.urls, scopes, ctx.path, presented.ok ? presented.value.scheme : 'Bearer')
    if (!presented.ok) {
      if (presented.error === 'none') throw refuse.missing('Send a bearer token.')
      if (presented.error === 'another-scheme')
        throw refuse.missing('Only the schemes Bearer and DPoP are known here.')
      if (presented.error === 'several') throw refuse.ambiguous('Send one Authorization header.')
      throw refuse.invalid('The token does not look like one of ours: ppt_ and 43 more characters.')
    }
    const { scheme, token } = presented.value
    const proof = scheme === 'DPoP' ? requireProof(ctx, token, refuse) : undefined
    const answer = await introspectFor(ctx, token)
    if (!answer.active) throw refuse.invalid(UNKNOWN)
    const fault = faultOf(answer, audienceAt(deps.urls, ctx.path), deps.now())
    if (fault) throw refuse.invalid(fault)
    const caller = await callerWithProof(ctx, answer, { proof, scopes })
    if (!scopes.every((scope) => caller.scopes.has(scope))) throw refuse.insufficient()
    return caller
  }
  return (ctx: Context, scopes: readonly string[]) =>
    withSynchronisedClock(deps.clock, () => check(ctx, scopes))
}

/**
 * Marks the proof of a caller as used. It follows the limits of the client, so that a client cannot make the store grow
 * faster than those allow.
 *
 * @throws {Problem} 401 with a challenge when the proof was used before; and what the store throws
 */
export function proofUse(deps: {
  usedProofs: UsedProofs
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'requireSynchronised'>
}) {
  const use = async (ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>) => {
    if (await deps.usedProofs.use(proof)) return
    throw refusals(deps.urls, scopes, ctx.path, 'DPoP').proof(USED)
  }
  return (ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>) =>
    withSynchronisedClock(deps.clock, () => use(ctx, scopes, proof))
}

/**
 * Finds the caller of a request for a public route from the introspection cache. When it returns undefined, also for a token
 * that is bound to a key, call `bearerCheck`.
 */
export function cachedBearer(deps: {
  findCached: (token: string) => ActiveIntrospection | undefined
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'isSynchronised'>
  now: () => Date
}) {
  return (request: Pick<IncomingMessage, 'rawHeaders'>): Caller | undefined => {
    const presented = presentedToken(request)
    if (!presented.ok || presented.value.scheme !== 'Bearer' || !deps.clock.isSynchronised()) return undefined
    const answer = deps.findCached(presented.value.token)
    return answer?.jkt === undefined && answer && !faultOf(answer, deps.urls.base, deps.now())
      ? callerOf(answer)
      : undefined
  }
}

/** Why a token that is active is not good here and now. Every path asks this, from memory or not. */
function faultOf(answer: ActiveIntrospection, audience: string, now: Date) {
  if (!answer.audience.includes(audience)) return 'The token is for another service.'
  return answer.expiresAt <= now ? 'The token has expired.' : undefined
}

const CALLERS = new WeakMap<ActiveIntrospection, Caller>()

/** Returns the caller of a token, the same object as long as its introspection is cached. */
function callerOf(answer: ActiveIntrospection): Caller {
  const { clientId, scopes, registrationId, verifiedDomain } = answer
  const caller = CALLERS.get(answer) ?? {
    clientId,
    scopes,
    ...(verifiedDomain !== undefined && { verifiedDomain }),
    ...(registrationId !== undefined && { registrationId }),
  }
  CALLERS.set(answer, caller)
  return caller
}

/**
 * The refusals of one route, with a challenge that names its scopes; they are empty where a token is optional.
 *
 * @param path of the request, which decides the metadata that the challenge names
 * @param scheme of the challenge: the one that the request used, or should have used
 */
function refusals(
  urls: ServiceUrls,
  scopes: readonly string[],
  path: string,
  scheme: TokenScheme = 'Bearer',
) {
  const optional = scopes.length === 0
  const scope = optional ? ANONYMOUS_SCOPES : scopes
  const refuse = (code: ProblemCode, detail: string, error?: Challenge['error']): Problem => {
    const challenge = { scope, resourceMetadata: protectedResourceAt(urls, path), ...(error && { error }) }
    return new Problem(code, { detail, headers: { 'www-authenticate': formatChallenge(scheme, challenge) } })
  }
  /** An app gets its token with an authorization code, after the person has signed in; an agent by itself. */
  const isForApps = audienceAt(urls, path) !== urls.base
  const howToGetOne = isForApps
    ? `The person signs in, in an app that connects to ${urls.signedInMcp}.`
    : `Get a token at ${urls.token}.`
  const unauthorized = (code: ProblemCode, detail: string, error?: 'invalid_token', more = '') =>
    refuse(code, `${detail} ${howToGetOne}${optional ? ` ${OPTIONAL}` : ''}${more}`, error)
  const isForContact = scopes.includes(CONTACT_SCOPE) && !isForApps
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
    /** The token is good, but not with this scheme. */
    scheme: (detail: string) => refuse('invalid-token', detail, 'invalid_token'),
    proof: (detail: string) => refuse('invalid-token-proof', detail, 'invalid_dpop_proof'),
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
  request: Pick<RequestFacts, 'header' | 'path'>,
  caller: Pick<Caller, 'proof'>,
) => Promise<{ registrationId: string; email: string; agent: ConfirmedAgent | undefined }>

const CONTACT_SCOPE = 'contact:write'

/**
 * @param deps.introspectWithEmail asks anew each time: the address is kept nowhere
 * @returns a function that takes the request and its caller, as `bearerCheck` found it
 */
export function verifiedPerson(deps: {
  introspectWithEmail: Introspect
  urls: ServiceUrls
  now: () => Date
}): VerifiedPerson {
  const { urls } = deps
  return async (request, caller) => {
    const scheme = caller?.proof ? 'DPoP' : 'Bearer'
    const refuse = refusals(urls, [CONTACT_SCOPE], request.path, scheme)
    const presented = presentedToken({ rawHeaders: ['authorization', request.header('authorization')] })
    if (!presented.ok) throw refuse.required(needsVerifiedEmail(urls))
    const answer = await deps.introspectWithEmail(presented.value.token)
    if (!answer.active || faultOf(answer, audienceAt(urls, request.path), deps.now()))
      throw refuse.invalid(UNKNOWN)
    // The proof of this request was verified and used already; it must be one by the key of this very token.
    if (answer.jkt !== caller.proof?.jkt || presented.value.scheme !== scheme) throw refuse.scheme(BOUND)
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
  const scheme = caller?.proof ? 'DPoP' : 'Bearer'
  const refuse = refusals(urls, [CONTACT_SCOPE], new URL(urls.mcp).pathname, scheme)
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
