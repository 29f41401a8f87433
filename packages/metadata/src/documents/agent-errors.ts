import { durationIn, RULES } from '@plainpath/domain'

/** A row of the error table in `/auth/errors.md`. */
export interface AgentError {
  /** The error code, which is also the last segment of the problem page's address. */
  readonly code: string
  readonly status: number
  /** The OAuth error code in the body or the challenge, if any. */
  readonly error?: string
  /** What the agent does next. Markdown text; `[verified]`, `[domain]` and `[dpop]` link to documents on these subjects. */
  readonly remedy: string
}

const CONFIRM_BY_EMAIL =
  'For `contact:write`, let a person [confirm you by e-mail][verified] first. If a confirmation has ended, ask again only if the person tells you to.'

const createError = (
  code: string,
  status: number,
  error: string | undefined,
  remedy: string,
): AgentError => ({
  code,
  status,
  ...(error !== undefined && { error }),
  remedy,
})

/**
 * The errors to which an agent can react, roughly in the order in which an agent meets them. Tests compare each row with the
 * service's real response.
 */
export const AGENT_ERRORS: readonly AgentError[] = [
  createError(
    'invalid-request',
    400,
    'invalid_request',
    'Correct the parts that `errors` or `detail` names.',
  ),
  createError(
    'invalid-client-metadata',
    400,
    'invalid_client_metadata',
    'Correct the members that `errors` names.',
  ),
  createError(
    'unsupported-credential-type',
    400,
    'unsupported_credential_type',
    'Leave out `type`, or send `anonymous`.',
  ),
  createError(
    'unsupported-grant-type',
    400,
    'unsupported_grant_type',
    'Send `grant_type=client_credentials` as a form.',
  ),
  createError('invalid-scope', 400, 'invalid_scope', `Leave out \`scope\`. ${CONFIRM_BY_EMAIL}`),
  createError(
    'invalid-target',
    400,
    'invalid_target',
    'Leave out `resource`, or send the address that the description names.',
  ),
  createError(
    'invalid-client',
    401,
    'invalid_client',
    'Check your credential: the description names a mistake in an assertion, or in your [document][domain]. If the credential is lost, register again.',
  ),
  createError(
    'client-expired',
    401,
    'invalid_client',
    'The registration expired because it was not used. Register again.',
  ),
  createError(
    'use-dpop-nonce',
    400,
    'use_dpop_nonce',
    'Make a new [proof][dpop] with the nonce of the header `DPoP-Nonce`, and send the request again.',
  ),
  createError(
    'invalid-dpop-proof',
    400,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as the description says. No token was issued.',
  ),
  createError(
    'dpop-proof-required',
    400,
    'invalid_dpop_proof',
    'Send a [proof][dpop]. `GET /api/agent` says why you need one. If you lost its key, see there.',
  ),
  createError('foreign-token', 400, 'invalid_request', 'Revoke the token with the credential that got it.'),
  createError(
    'invalid-token',
    401,
    'invalid_token',
    'The token expired or was revoked. Get a new one; for messages, with `POST /api/agent/assertion` first. If that gives `no-claim`, stop.',
  ),
  createError(
    'invalid-token-proof',
    401,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `detail` says. The token is still valid.',
  ),
  createError(
    'token-required',
    401,
    undefined,
    `Send a token in \`Authorization: Bearer\`. ${CONFIRM_BY_EMAIL}`,
  ),
  createError(
    'insufficient-scope',
    403,
    'insufficient_scope',
    `Get a token with the scope that \`WWW-Authenticate\` names. ${CONFIRM_BY_EMAIL}`,
  ),
  createError(
    'invalid-key-proof',
    400,
    'invalid_proof',
    'Nothing changed. Make another proof, as `detail` says.',
  ),
  createError(
    'client-has-keys',
    409,
    'client_has_keys',
    'You have keys and no secret: replace the keys instead.',
  ),
  createError(
    'client-has-document',
    409,
    'client_has_document',
    'You have no registration: change the keys in your [document][domain].',
  ),
  createError('too-many-secrets', 409, 'too_many_secrets', 'Delete one of your two secrets first.'),
  createError('last-secret', 409, 'last_secret', 'Get another secret first, or delete the registration.'),
  createError('claim-unknown', 400, 'invalid_claim_token', 'Begin with `POST /api/agent/claim`.'),
  createError(
    'code-not-shown',
    409,
    'authorization_pending',
    'The person has not pressed "Yes" yet. Wait for them; if no mail came, see [verified e-mail][verified].',
  ),
  createError(
    'otp-invalid',
    400,
    'otp_invalid',
    'Ask the person to read the code again. `attempts_remaining` counts down.',
  ),
  createError(
    'otp-expired',
    410,
    'otp_expired',
    'Ask the person to open the link again and press for a new code.',
  ),
  createError(
    'otp-locked',
    410,
    'otp_locked',
    `Begin again. If that is refused too, wait ${durationIn('day', RULES.mailboxTriesMs)}. Never guess a code.`,
  ),
  createError(
    'claim-completed',
    409,
    'previously_claimed',
    'You are confirmed. Get an identity assertion with `POST /api/agent/assertion`.',
  ),
  createError('claim-superseded', 410, 'claim_superseded', 'Use the code of your newest request.'),
  createError(
    'claim-expired',
    410,
    'claim_expired',
    `The link was not used for ${durationIn('hour', RULES.claimLinkMs)}. Ask the person, then begin again.`,
  ),
  createError('claim-declined', 410, 'access_denied', 'The person said no. Do not ask them again.'),
  createError(
    'no-claim',
    409,
    'no_claim',
    'No confirmation is in force. If one has ended, begin again only if the person tells you to. If there never was one, ask the person first.',
  ),
  createError(
    'invalid-grant',
    400,
    'invalid_grant',
    'Get another identity assertion with `POST /api/agent/assertion`.',
  ),
  createError(
    'duplicate-message',
    409,
    undefined,
    'We have this message; `first` is its id. You need not send it again.',
  ),
  createError('idempotency-key-reused', 422, undefined, 'Use a new `Idempotency-Key` for each message.'),
  createError('idempotency-in-progress', 409, undefined, 'Wait a second, then send the same request again.'),
  createError(
    'message-withdrawn',
    409,
    undefined,
    'Nothing was sent. If the person still wants it sent, use a new key.',
  ),
  createError('message-being-delivered', 409, undefined, 'Try again a little later.'),
  createError(
    'already-delivered',
    409,
    undefined,
    'It is too late to withdraw it. Tell the person what `detail` says.',
  ),
  createError('not-found', 404, undefined, 'Check the address and the id.'),
  createError('rate-limited', 429, 'rate_limited', 'Wait for the seconds in `Retry-After`.'),
  createError(
    'unavailable',
    503,
    'temporarily_unavailable',
    'Wait for the seconds in `Retry-After`, then try again.',
  ),
]
