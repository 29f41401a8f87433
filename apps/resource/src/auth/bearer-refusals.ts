/*
 * Creates the responses to requests whose token is refused: 400, 401 or 403 with a challenge (`challenge.ts`). `bearer.ts`,
 * `verified-person.ts` and `refuse-token-in-query.ts` decide whether to refuse.
 */
import { ANONYMOUS_SCOPES } from '@plainpath/domain'
import { Problem, type ProblemCode } from '@plainpath/http'
import { getAudienceForPath, getResourceMetadataUrl, type ServiceUrls } from '@plainpath/metadata'
import { type Challenge, formatChallenge } from './challenge.ts'
import type { TokenScheme } from './read-presented-token.ts'

export const CONTACT_SCOPE = 'contact:write'

export const TOKEN_UNKNOWN = 'The token is unknown, expired or revoked.'
export const NEEDS_DPOP =
  'The token is bound to a key: send it as Authorization: DPoP, with a proof of this request in the header DPoP (RFC 9449).'
const TOKEN_OPTIONAL = 'This operation works without Authorization.'
/** Advice to clients of routes that need `contact:write`. The person's confirmation may have ended together with the token. */
const RENEWAL_HINT =
  "If the token was for messages, get an identity assertion with POST /api/agent/assertion first. If that responds no-claim, the person's confirmation has ended: do not ask them again on your own."

/** Explains how to get the scope `contact:write`. */
export const explainContactScope = (urls: ServiceUrls) =>
  `${CONTACT_SCOPE} needs the verified_email flow: the person verifies their e-mail address. ${urls.authVerifiedEmail} leads through it. If a person confirmed you before and that has ended, ask again only if they tell you to.`

/** The refusals of a route, by reason. Each method creates the problem to throw. */
export interface BearerRefusals {
  /** For a request that needs a token and has none. Unlike `noToken`, adds nothing to `detail`. */
  tokenRequired(detail: string): Problem
  /** For a request without a token, or with a scheme other than Bearer and DPoP. Adds to `detail` how to get a token. */
  noToken(detail: string): Problem
  /** For a token that is malformed, not active, expired or for another service. */
  invalidToken(detail: string): Problem
  /** For a valid token that was sent with the wrong scheme. */
  wrongScheme(detail: string): Problem
  /** For a DPoP proof that is missing, invalid or reused. */
  invalidProof(detail: string): Problem
  /** For a request with several Authorization headers, or with a token in its URL. */
  ambiguousToken(detail: string): Problem
  /**
   * For a valid token without the route's scopes or, for a message, without a verified e-mail address. By default, `detail` names
   * the scopes.
   */
  missingScope(detail?: string): Problem
}

/**
 * Creates the refusals of a route. Each has a challenge that names the route's scopes, or the anonymous scopes if it has none.
 *
 * @param scopes the route's scopes; if empty, a token is optional
 * @param path the request path, which determines the resource metadata that the challenge refers to
 * @param scheme the scheme that the request used or should have used
 */
export function createBearerRefusals(
  urls: ServiceUrls,
  scopes: readonly string[],
  path: string,
  scheme: TokenScheme = 'Bearer',
): BearerRefusals {
  const isTokenOptional = scopes.length === 0
  const scope = isTokenOptional ? ANONYMOUS_SCOPES : scopes
  const createRefusal = (code: ProblemCode, detail: string, error?: Challenge['error']): Problem => {
    const challenge = { scope, resourceMetadata: getResourceMetadataUrl(urls, path), ...(error && { error }) }
    return new Problem(code, { detail, headers: { 'www-authenticate': formatChallenge(scheme, challenge) } })
  }
  // An app gets a token after a person has signed in. An agent gets a token by itself.
  const isForApps = getAudienceForPath(urls, path) !== urls.base
  const howToGetToken = isForApps
    ? `The person signs in, in an app that connects to ${urls.signedInMcp}.`
    : `Get a token at ${urls.token}.`
  const createUnauthorized = (code: ProblemCode, detail: string, error?: 'invalid_token', suffix = '') =>
    createRefusal(
      code,
      `${detail} ${howToGetToken}${isTokenOptional ? ` ${TOKEN_OPTIONAL}` : ''}${suffix}`,
      error,
    )
  const isForContact = scopes.includes(CONTACT_SCOPE) && !isForApps
  // Every invalid token gets this hint, so the hint reveals nothing about the token's owner.
  const renewal = isForContact ? ` ${RENEWAL_HINT}` : ''
  const howToGetScope = isForContact ? ` ${explainContactScope(urls)}` : ''
  const lacksScope = `The token lacks the scope ${scopes.join(' ')}.${howToGetScope}`
  return {
    tokenRequired: (detail) => createRefusal('token-required', detail),
    noToken: (detail) => createUnauthorized(isTokenOptional ? 'invalid-token' : 'token-required', detail),
    invalidToken: (detail) => createUnauthorized('invalid-token', detail, 'invalid_token', renewal),
    wrongScheme: (detail) => createRefusal('invalid-token', detail, 'invalid_token'),
    invalidProof: (detail) => createRefusal('invalid-token-proof', detail, 'invalid_dpop_proof'),
    ambiguousToken: (detail) => createRefusal('invalid-request', detail, 'invalid_request'),
    missingScope: (detail = lacksScope) => createRefusal('insufficient-scope', detail, 'insufficient_scope'),
  }
}
