import { durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { ANSWER_PROBLEMS } from './answer-problems.ts'
import { CLAIM_PROBLEMS } from './claim-problems.ts'
import { CONTACT_PROBLEMS } from './contact-problems.ts'
import { DPOP_PROBLEMS } from './dpop-problems.ts'

/**
 * A kind of problem. `oauth` is its error code in RFC 6749 bodies; by default `invalid_request`. RFC 6749 has few error
 * codes, so several kinds may share one. Clients distinguish them by `code`, which every body has.
 */
interface ProblemKind {
  readonly status: number
  readonly title: string
  /** The meaning of the problem, for the page `/problems/<code>`. */
  readonly meaning: string
  /** The next step for the caller. */
  readonly remedy: string
  readonly oauth?: string
}

const CONTACT_SCOPE_STEPS =
  'For contact:write a person must confirm you first: follow the steps in /auth/verified-email.md. If one did before and that has ended, ask again only if they tell you to.'

/** Every problem with a page, by its code: the last segment of `type` (RFC 9457 §3.1.1). */
const PROBLEMS = {
  'invalid-request': {
    status: 400,
    title: 'The request is not valid',
    meaning: 'A part of the request is missing, is malformed or has the wrong type.',
    remedy: 'The members detail and errors name each mistake. Correct the request and send it again.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'The cursor is not valid',
    meaning: 'This service did not issue the cursor, or the list that it belongs to no longer exists.',
    remedy: 'Start again without a cursor.',
  },
  'invalid-client-metadata': {
    status: 400,
    title: 'The registration is not valid',
    meaning: 'A member of the request body is not accepted.',
    remedy: `The member errors names each mistake. Every member is optional: client_name has up to ${RULES.nameCharacters} characters, and jwks contains one to ${numberInWords(RULES.agentKeys)} public keys.`,
    oauth: 'invalid_client_metadata',
  },
  'invalid-redirect-uri': {
    status: 400,
    title: 'The redirect URI is not accepted',
    meaning:
      'Apps that people connect from register here. A sign-in may not return to an address of this registration.',
    remedy:
      'Use http on 127.0.0.1, [::1] or localhost, or ask the operator to add the address of your app. Agents with credentials of their own register at /api/agent/register.',
    oauth: 'invalid_redirect_uri',
  },
  'invalid-key-proof': {
    status: 400,
    title: 'The proof of the new keys is not valid',
    meaning: 'A proof does not show that this client can sign with its new keys. The keys were not changed.',
    remedy:
      'The member detail names the mistake. Make new proofs as described in /auth/keys.md and send the key set again. If you authenticate with a key, make a new assertion too.',
    oauth: 'invalid_proof',
  },
  'unsupported-credential-type': {
    status: 400,
    title: 'This kind of registration is not offered',
    meaning: 'Agents register as anonymous. The requested type is not supported.',
    remedy: 'Leave type out, or send anonymous.',
    oauth: 'unsupported_credential_type',
  },
  'invalid-grant': {
    status: 400,
    title: 'The grant is not valid',
    meaning: 'The grant has expired, was revoked or belongs to another client.',
    remedy: 'Get a new grant and try again.',
    oauth: 'invalid_grant',
  },
  'invalid-scope': {
    status: 400,
    title: 'None of the requested scopes can be granted',
    meaning: 'This client cannot have any of the requested scopes.',
    remedy: `Leave scope out to get every scope that it can have. ${CONTACT_SCOPE_STEPS}`,
    oauth: 'invalid_scope',
  },
  'invalid-target': {
    status: 400,
    title: 'The resource is not known',
    meaning: 'The resource parameter does not name the API that this server issues tokens for (RFC 8707).',
    remedy: 'Leave resource out, or send exactly one of the URLs that detail names.',
    oauth: 'invalid_target',
  },
  'unauthorized-client': {
    status: 400,
    title: 'The client may not use this grant',
    meaning: 'The server supports the grant type, but not for this client.',
    remedy: 'Use the grant type client_credentials.',
    oauth: 'unauthorized_client',
  },
  'unsupported-grant-type': {
    status: 400,
    title: 'The grant type is not supported',
    meaning: 'The server does not support the grant_type in the request.',
    remedy:
      'Send grant_type as a form field: client_credentials, or urn:ietf:params:oauth:grant-type:jwt-bearer with an identity assertion.',
    oauth: 'unsupported_grant_type',
  },
  // Reserved: no response has this code any more, but the page of a published code remains.
  'unsupported-token-type': {
    status: 400,
    title: 'The token was not issued by this server',
    meaning: 'Access tokens of this server are opaque and start with ppt_. The request contains a JWT.',
    remedy: 'Send the access_token that the token endpoint returned.',
    oauth: 'unsupported_token_type',
  },
  'foreign-token': {
    status: 400,
    title: 'The token belongs to another client',
    meaning: 'A client can revoke only its own tokens (RFC 7009, section 2.1). The token was not revoked.',
    remedy: 'Revoke it with the credentials of the client that it was issued to.',
  },
  'invalid-client': {
    status: 401,
    title: 'Client authentication failed',
    meaning: 'The client is unknown, or its credentials are not accepted.',
    remedy:
      'Check client_id and the secret or key. A client that has lost all its credentials must register again.',
    oauth: 'invalid_client',
  },
  'client-expired': {
    status: 401,
    title: 'The registration has expired',
    meaning: `The client got no token within ${durationIn('day', RULES.neverUsedMs)} of registering, or none for at least ${durationIn('day', RULES.idleMs)}. Its registration has expired, and its data was erased.`,
    remedy: 'Register again with POST /api/agent/register. You need no earlier credential.',
    oauth: 'invalid_client',
  },
  ...DPOP_PROBLEMS,
  'last-secret': {
    status: 409,
    title: 'This is the only secret of the client',
    meaning: 'Without it the client could no longer authenticate. Nothing was changed.',
    remedy:
      'First get another one with POST /api/agent/secrets, or delete the registration with DELETE /api/agent.',
    oauth: 'last_secret',
  },
  'too-many-secrets': {
    status: 409,
    title: 'The client already has two secrets',
    meaning:
      'A client has at most two secrets: a new one and, for a limited time, the previous one. Nothing was changed.',
    remedy:
      'Revoke one of them with DELETE /api/agent/secrets/{id}, or wait until the older one expires. GET /api/agent lists both.',
    oauth: 'too_many_secrets',
  },
  'client-has-keys': {
    status: 409,
    title: 'The client authenticates with keys',
    meaning: 'A client that registered keys has no secret (RFC 7591, section 2). Nothing was changed.',
    remedy: 'Replace the keys with PUT /api/agent/jwks, or register again without jwks.',
    oauth: 'client_has_keys',
  },
  'client-has-document': {
    status: 409,
    title: 'The credentials of the client are in its document',
    meaning:
      'The keys of a client that is known by a URL are those of the document there. Nothing was changed.',
    remedy: `Change the keys in your document. It is fetched again when the stored copy expires, ${durationInWords('minute', RULES.documentShortestMs)} to ${durationInWords('day', RULES.documentLongestMs)} after it was fetched.`,
    oauth: 'client_has_document',
  },
  'token-required': {
    status: 401,
    title: 'A bearer token is required',
    meaning: 'This operation needs an access token in the Authorization header.',
    remedy: `Register, get a token and send it as Authorization: Bearer <token>. ${CONTACT_SCOPE_STEPS}`,
    oauth: 'invalid_token',
  },
  'invalid-token': {
    status: 401,
    title: 'The bearer token is not valid',
    meaning: 'The token has expired, was revoked, is malformed or was not issued for this service.',
    remedy: 'Get a new token. Guides can also be read, and the waitlist joined, without a token.',
    oauth: 'invalid_token',
  },
  'insufficient-scope': {
    status: 403,
    title: 'The token lacks a required scope',
    meaning: 'The token is valid, but it does not have the scope that this operation requires.',
    remedy: `Request a token with the scope that the WWW-Authenticate header names. ${CONTACT_SCOPE_STEPS}`,
    oauth: 'insufficient_scope',
  },
  'cross-site-request': {
    status: 403,
    title: 'Requests from other sites are not accepted',
    meaning: 'A browser sent this request on behalf of another site.',
    remedy: 'Call the API from a server or a tool, not from a script on a page of another site.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    meaning: 'This service has no such URL, or the resource that the URL names does not exist.',
    remedy: 'Check the URL: paths are case-sensitive and have no trailing slash.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    meaning: 'The URL exists, but it does not support this HTTP method.',
    remedy: 'Use one of the methods that the Allow header lists.',
  },
  'not-acceptable': {
    status: 406,
    title: 'No acceptable media type is available',
    meaning: 'The Accept header excludes every media type that this operation offers.',
    remedy: 'Accept the media type that detail names.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'The headers or the body did not arrive in time. Nothing was done.',
    remedy: 'Send the request again on a new connection.',
  },
  ...CLAIM_PROBLEMS,
  ...CONTACT_PROBLEMS,
  'guide-retired': {
    status: 410,
    title: 'The guide was retired',
    meaning:
      'The guide is no longer published: another guide replaced it, or the law that it explained no longer applies.',
    remedy: 'Read the guide that detail names.',
  },
  'content-too-large': {
    status: 413,
    title: 'The request body is too large',
    meaning: 'A request body may have at most 64 KiB.',
    remedy: 'Send a smaller body.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type is not supported',
    meaning: 'This operation does not accept the media type, charset or encoding of the body.',
    remedy: 'Send the Content-Type that detail names, in UTF-8 and without Content-Encoding.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The expectation is not supported',
    meaning: 'The Expect header contains something other than 100-continue.',
    remedy: 'Leave the Expect header out.',
  },
  'misdirected-request': {
    status: 421,
    title: 'The request is for another host',
    meaning: 'The Host header does not name this service. Nothing was done.',
    remedy: 'Send the request to the origin that detail names.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    meaning: 'A rate limit was reached. The member detail and the RateLimit headers name it.',
    remedy: 'Wait for the number of seconds in Retry-After, then send requests more slowly.',
    oauth: 'rate_limited',
  },
  'headers-too-large': {
    status: 431,
    title: 'The request headers are too large',
    meaning: 'The headers of a request may have at most 16 KiB in total.',
    remedy: 'Send fewer or shorter headers.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal error',
    meaning: 'The service failed to handle the request. The fault is logged under the request_id.',
    remedy: 'Try again later. If the error persists, report the request_id.',
    oauth: 'server_error',
  },
  unavailable: {
    status: 503,
    title: 'A part of the service is unavailable',
    meaning:
      'A store or another part that this operation needs did not respond in time. The operation may or may not have taken effect.',
    remedy: 'Try again after the number of seconds in Retry-After.',
    oauth: 'temporarily_unavailable',
  },
  ...ANSWER_PROBLEMS,
  unhealthy: {
    status: 503,
    title: 'The service is not healthy',
    meaning: 'The service cannot serve the published guides.',
    remedy: 'Try again after the number of seconds in Retry-After.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof PROBLEMS

export const getProblemKind = (code: ProblemCode): ProblemKind => PROBLEMS[code]

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[]
