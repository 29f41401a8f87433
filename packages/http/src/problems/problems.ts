import { durationIn, numberInWords, RULES } from '@plainpath/domain'
import { CLAIM_PROBLEMS } from './claim-problems.ts'
import { CONTACT_PROBLEMS } from './contact-problems.ts'

/** One kind of problem. `oauth` is its error code in RFC 6749 bodies; `invalid_request` when absent. */
interface ProblemKind {
  readonly status: number
  readonly title: string
  /** What went wrong, for the page `/problems/<code>`. */
  readonly meaning: string
  /** What to do next. */
  readonly remedy: string
  readonly oauth?: string
}

const TO_CONTACT =
  'For contact:write a person has to confirm you first: begin with POST /api/agent/claim; /auth.md leads through it.'

/** Every problem that the apps respond with. The key is the last segment of `type` (RFC 9457 §3.1.1). */
const PROBLEMS = {
  'invalid-request': {
    status: 400,
    title: 'The request is not valid',
    meaning: 'A part of the request is missing, malformed or has a wrong type.',
    remedy: 'Read detail and errors: they name each mistake. Correct the request and send it again.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'The cursor is not valid',
    meaning: 'The cursor was not made by this service, or the list it belonged to is gone.',
    remedy: 'Start again without a cursor.',
  },
  'invalid-client-metadata': {
    status: 400,
    title: 'The registration is not valid',
    meaning: 'A member of the registration body cannot be accepted.',
    remedy: `Read errors. No member is needed; client_name has up to ${RULES.nameCharacters} characters, jwks holds one to ${numberInWords(RULES.agentKeys)} public keys.`,
    oauth: 'invalid_client_metadata',
  },
  'invalid-key-proof': {
    status: 400,
    title: 'The proof of the new keys is not valid',
    meaning: 'A proof does not show that this client can sign with its new keys. Nothing was changed.',
    remedy:
      'Read detail: it names the mistake. Make new proofs as /auth.md says and send the set again, with a new assertion if you have keys already.',
    oauth: 'invalid_proof',
  },
  'unsupported-credential-type': {
    status: 400,
    title: 'This kind of registration is not offered',
    meaning: 'Agents register as anonymous; the type that was asked for is not known here.',
    remedy: 'Leave type out, or send "anonymous".',
    oauth: 'unsupported_credential_type',
  },
  'invalid-grant': {
    status: 400,
    title: 'The grant is not valid',
    meaning: 'The grant is expired, revoked or belongs to another client.',
    remedy: 'Get a new one and try again.',
    oauth: 'invalid_grant',
  },
  'invalid-scope': {
    status: 400,
    title: 'No usable scope was asked for',
    meaning: 'None of the scopes in the request can be given to this client.',
    remedy: `Leave scope out to get all that the client may have. ${TO_CONTACT}`,
    oauth: 'invalid_scope',
  },
  'invalid-target': {
    status: 400,
    title: 'The resource is not known',
    meaning: 'The resource parameter does not name the API that this server issues tokens for (RFC 8707).',
    remedy: 'Leave resource out, or send exactly the address that detail names.',
    oauth: 'invalid_target',
  },
  'unauthorized-client': {
    status: 400,
    title: 'The client may not use this grant',
    meaning: 'The grant type exists, but this client is not registered for it.',
    remedy: 'Use client_credentials.',
    oauth: 'unauthorized_client',
  },
  'unsupported-grant-type': {
    status: 400,
    title: 'The grant type is not supported',
    meaning: 'This server does not know the grant_type that was sent.',
    remedy: 'Send grant_type=client_credentials.',
    oauth: 'unsupported_grant_type',
  },
  'unsupported-response-type': {
    status: 400,
    title: 'There is no authorization endpoint',
    meaning: 'Agents sign in with client credentials; nobody signs in with a browser here.',
    remedy: 'Get a token from the token endpoint with client_credentials.',
    oauth: 'unsupported_response_type',
  },
  'unsupported-token-type': {
    status: 400,
    title: 'This is not one of our tokens',
    meaning: 'Access tokens of this server are opaque and start with ppt_; a JWT was sent.',
    remedy: 'Send the access_token as the token endpoint gave it.',
    oauth: 'unsupported_token_type',
  },
  'foreign-token': {
    status: 400,
    title: 'The token belongs to another client',
    meaning: 'A client can revoke its own tokens only (RFC 7009 §2.1). The token was not touched.',
    remedy: 'Revoke it with the credentials of the client it was issued to.',
  },
  'invalid-client': {
    status: 401,
    title: 'Client authentication failed',
    meaning: 'The client is unknown, or its secret or assertion is not accepted.',
    remedy:
      'Check client_id and client_secret, or make a new assertion. A lost secret cannot be recovered: register again.',
    oauth: 'invalid_client',
  },
  'client-expired': {
    status: 401,
    title: 'The registration has expired',
    meaning: `This client got no token for ${durationIn('day', RULES.neverUsedMs)} after it registered, or for ${durationIn('day', RULES.idleMs)}. It has ended, and its data is erased.`,
    remedy: 'Register again with POST /api/agent/register. No prior credential is needed.',
    oauth: 'invalid_client',
  },
  'last-secret': {
    status: 409,
    title: 'This is the only secret of the client',
    meaning: 'Without a secret the client could not authenticate any more. Nothing was done.',
    remedy: 'Get another one with POST /api/agent/secrets first, or end the client with DELETE /api/agent.',
    oauth: 'last_secret',
  },
  'too-many-secrets': {
    status: 409,
    title: 'The client has two secrets already',
    meaning:
      'A client has at most two secrets: a new one, and for a while the one before it. Nothing was done.',
    remedy:
      'End one of them with DELETE /api/agent/secrets/{id}; GET /api/agent lists them. Or wait for the end of the older one.',
    oauth: 'too_many_secrets',
  },
  'client-has-keys': {
    status: 409,
    title: 'The client authenticates by keys',
    meaning: 'A client that registered keys has no secrets (RFC 7591 §2). Nothing was done.',
    remedy: 'Replace the keys with PUT /api/agent/jwks, or register again without jwks.',
    oauth: 'client_has_keys',
  },
  'token-required': {
    status: 401,
    title: 'A bearer token is required',
    meaning: 'This operation needs an access token in the Authorization header.',
    remedy: `Register an agent, get a token and send it as: Authorization: Bearer <token>. ${TO_CONTACT}`,
    oauth: 'invalid_token',
  },
  'invalid-token': {
    status: 401,
    title: 'The bearer token is not valid',
    meaning: 'The token is unknown, expired, revoked, malformed or issued for another service.',
    remedy: 'Get a new token. Reading guides and joining the waitlist also work without Authorization.',
    oauth: 'invalid_token',
  },
  'insufficient-scope': {
    status: 403,
    title: 'The token lacks a required scope',
    meaning: 'The token is valid, but it was not given the scope that this operation needs.',
    remedy: `Ask for a token with the scope that the WWW-Authenticate header names. ${TO_CONTACT}`,
    oauth: 'insufficient_scope',
  },
  'cross-site-request': {
    status: 403,
    title: 'Requests from other sites are refused',
    meaning: 'A browser sent this request on behalf of another site.',
    remedy: 'Call the API from a server or a tool, not from a script in a page of another site.',
  },
  'not-found': {
    status: 404,
    title: 'Nothing is here',
    meaning: 'The address is not one of this service, or what it named does not exist.',
    remedy: 'Check the address: paths are case-sensitive and have no trailing slash.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed here',
    meaning: 'The address exists, but not for this HTTP method.',
    remedy: 'Use one of the methods in the Allow header.',
  },
  'not-acceptable': {
    status: 406,
    title: 'No acceptable form exists',
    meaning: 'The Accept header excludes every form in which this can be answered.',
    remedy: 'Widen Accept; detail names the form that is offered.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'The headers or the body were not complete in time. Nothing was done.',
    remedy: 'Send the request again on a new connection.',
  },
  ...CLAIM_PROBLEMS,
  ...CONTACT_PROBLEMS,
  'guide-retired': {
    status: 410,
    title: 'This guide was retired',
    meaning: 'The guide is no longer published because another one replaced it or its law is gone.',
    remedy: 'Read the successor that detail names.',
  },
  'content-too-large': {
    status: 413,
    title: 'The request body is too large',
    meaning: 'Bodies may have at most 16 KiB.',
    remedy: 'Send a smaller body.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type is not supported',
    meaning: 'The body is in a form, charset or encoding that this operation does not read.',
    remedy: 'Send the Content-Type that detail names, in UTF-8, without Content-Encoding.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The expectation cannot be met',
    meaning: 'The Expect header asks for something other than 100-continue.',
    remedy: 'Leave the Expect header out.',
  },
  'misdirected-request': {
    status: 421,
    title: 'The request is for another host',
    meaning: 'The Host of the request is not the one of this service. Nothing was done.',
    remedy: 'Send the request to the origin that detail names.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    meaning: 'A limit was reached; detail and the RateLimit headers name it.',
    remedy: 'Wait for the seconds in Retry-After, then go on more slowly.',
    oauth: 'rate_limited',
  },
  'headers-too-large': {
    status: 431,
    title: 'The request headers are too large',
    meaning: 'The headers of a request may have at most 16 KiB together.',
    remedy: 'Send fewer or shorter headers.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    meaning: 'A fault of ours. It was logged under the request_id.',
    remedy: 'Try again later. If it stays, report the request_id.',
    oauth: 'server_error',
  },
  unavailable: {
    status: 503,
    title: 'A part of the service is not answering',
    meaning:
      'A store or another part that this operation needs did not answer in time. What was asked may or may not have been done.',
    remedy: 'Try again after the seconds in Retry-After.',
    oauth: 'temporarily_unavailable',
  },
  'answers-paused': {
    status: 503,
    title: 'Answers are paused',
    meaning:
      'Our staff stopped answers to questions while they check something. The guides can still be read.',
    remedy: 'Use findHelp to reach people who can help, read the guides, or ask again later.',
  },
  'answers-unavailable': {
    status: 503,
    title: 'Questions cannot be answered now',
    meaning:
      'This part of the service has just started and does not know yet which answers our staff turned off.',
    remedy: 'Use findHelp to reach people who can help, or ask again after the seconds in Retry-After.',
  },
  unhealthy: {
    status: 503,
    title: 'The service cannot answer now',
    meaning: 'The published guides cannot be served.',
    remedy: 'Try again after the seconds in Retry-After.',
  },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof PROBLEMS

export const problemKind = (code: ProblemCode): ProblemKind => PROBLEMS[code]

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[]
