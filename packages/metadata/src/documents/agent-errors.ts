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

const defineError = (
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
 * The errors to which an agent can react, roughly in the order in which an agent meets them. Tests compare each row with a real
 * response or, where that needs a clock, a race or a failure, with the definition of the problem.
 */
export const AGENT_ERRORS: readonly AgentError[] = [
  defineError(
    'invalid-request',
    400,
    'invalid_request',
    'Correct the parts that `errors` or `detail` names.',
  ),
  defineError(
    'invalid-client-metadata',
    400,
    'invalid_client_metadata',
    'Correct the members that `errors` names.',
  ),
  defineError(
    'unsupported-credential-type',
    400,
    'unsupported_credential_type',
    'Leave out `type`, or send `anonymous`.',
  ),
  defineError(
    'unsupported-grant-type',
    400,
    'unsupported_grant_type',
    'Send `grant_type=client_credentials` as a form.',
  ),
  defineError('invalid-scope', 400, 'invalid_scope', `Leave out \`scope\`. ${CONFIRM_BY_EMAIL}`),
  defineError(
    'invalid-target',
    400,
    'invalid_target',
    'Leave out `resource`, or send the address that `error_description` names.',
  ),
  defineError(
    'invalid-client',
    401,
    'invalid_client',
    'Check your credential: `error_description` names a mistake in an assertion, or in your [document][domain]. If the credential is lost, register again.',
  ),
  defineError(
    'client-expired',
    401,
    'invalid_client',
    'The registration expired because it was not used. Register again.',
  ),
  defineError(
    'use-dpop-nonce',
    400,
    'use_dpop_nonce',
    'Make a new [proof][dpop] with the nonce of the header `DPoP-Nonce`, and send the request again.',
  ),
  defineError(
    'invalid-dpop-proof',
    400,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `error_description` says. No token was issued.',
  ),
  defineError(
    'dpop-proof-required',
    400,
    'invalid_dpop_proof',
    'Send a [proof][dpop]. `GET /api/agent` says why you need one, and what to do if you lost the key.',
  ),
  defineError('foreign-token', 400, 'invalid_request', 'Revoke the token with the credential that got it.'),
  defineError(
    'invalid-token',
    401,
    'invalid_token',
    'The token expired or was revoked. Get a new one. A token for messages needs a new identity assertion first (`POST /api/agent/assertion`). If the response to that is `no-claim`, stop.',
  ),
  defineError(
    'invalid-token-proof',
    401,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `detail` says. The token is still valid.',
  ),
  defineError(
    'token-required',
    401,
    undefined,
    `Send a token in \`Authorization: Bearer\`. ${CONFIRM_BY_EMAIL}`,
  ),
  defineError(
    'insufficient-scope',
    403,
    'insufficient_scope',
    `Get a token with the scope that \`WWW-Authenticate\` names. ${CONFIRM_BY_EMAIL}`,
  ),
  defineError(
    'invalid-key-proof',
    400,
    'invalid_proof',
    'Nothing changed. Make another proof, as `detail` says.',
  ),
  defineError(
    'client-has-keys',
    409,
    'client_has_keys',
    'You have keys and no secret: replace the keys instead.',
  ),
  defineError(
    'client-has-document',
    409,
    'client_has_document',
    'You have no registration: change the keys in your [document][domain].',
  ),
  defineError('too-many-secrets', 409, 'too_many_secrets', 'Delete one of your two secrets first.'),
  defineError('last-secret', 409, 'last_secret', 'Get another secret first, or delete the registration.'),
  defineError('claim-unknown', 400, 'invalid_claim_token', 'Begin with `POST /api/agent/claim`.'),
  defineError(
    'code-not-shown',
    409,
    'authorization_pending',
    'The person has not pressed "Yes" yet. Wait for them; if no mail came, see [verified e-mail][verified].',
  ),
  defineError(
    'otp-invalid',
    400,
    'otp_invalid',
    'Ask the person to read the code again. `attempts_remaining` counts down.',
  ),
  defineError(
    'otp-expired',
    410,
    'otp_expired',
    'Ask the person to open the link again and press for a new code.',
  ),
  defineError(
    'otp-locked',
    410,
    'otp_locked',
    `Begin again. If that is refused too, wait ${durationIn('day', RULES.mailboxTriesMs)}. Never guess a code.`,
  ),
  defineError(
    'claim-completed',
    409,
    'previously_claimed',
    'You are confirmed. Get an identity assertion with `POST /api/agent/assertion`.',
  ),
  defineError('claim-superseded', 410, 'claim_superseded', 'Use the code of your newest request.'),
  defineError(
    'claim-expired',
    410,
    'claim_expired',
    `The link was not used for ${durationIn('hour', RULES.verificationLinkMs)}. Ask the person, then begin again.`,
  ),
  defineError('claim-declined', 410, 'access_denied', 'The person said no. Do not ask them again.'),
  defineError(
    'no-claim',
    409,
    'no_claim',
    'No confirmation is in force. If one has ended, begin again only if the person tells you to. If there never was one, ask the person first.',
  ),
  defineError(
    'invalid-grant',
    400,
    'invalid_grant',
    'Get another identity assertion with `POST /api/agent/assertion`.',
  ),
  defineError(
    'duplicate-message',
    409,
    undefined,
    'We have this message; `first` is its id. You need not send it again.',
  ),
  defineError('idempotency-key-reused', 422, undefined, 'Use a new `Idempotency-Key` for each message.'),
  defineError('idempotency-in-progress', 409, undefined, 'Wait a second, then send the same request again.'),
  defineError(
    'message-withdrawn',
    409,
    undefined,
    'Nothing was sent. If the person still wants it sent, use a new `Idempotency-Key`.',
  ),
  defineError('message-being-delivered', 409, undefined, 'Try again a little later.'),
  defineError(
    'already-delivered',
    409,
    undefined,
    'It is too late to withdraw the message. Tell the person what `detail` says.',
  ),
  defineError('not-found', 404, undefined, 'Check the address and the id.'),
  defineError('rate-limited', 429, 'rate_limited', 'Wait for the seconds in `Retry-After`.'),
  defineError(
    'unavailable',
    503,
    'temporarily_unavailable',
    'Wait for the seconds in `Retry-After`, then try again.',
  ),
]
