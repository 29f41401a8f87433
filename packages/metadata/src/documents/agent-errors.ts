import { durationIn, RULES } from '@plainpath/domain'
import { JWT_BEARER_GRANT_TYPE } from '../oauth-metadata.ts'

/** A row of the error table in `/auth/errors.md`. */
export interface AgentErrorRow {
  /** The error code, which is also the last segment of the problem page's address. */
  readonly code: string
  readonly status: number
  /** The OAuth error code in the body or the challenge, if any. */
  readonly error?: string
  /** The agent's next step. Markdown text; `[verified]`, `[domain]` and `[dpop]` link to documents on these subjects. */
  readonly remedy: string
}

const CONFIRM_BY_EMAIL =
  'For `contact:write`, let a person [confirm you by e-mail][verified] first. If a confirmation has ended, ask again only if the person tells you to.'

const defineRow = (
  code: string,
  status: number,
  error: string | undefined,
  remedy: string,
): AgentErrorRow => ({
  code,
  status,
  ...(error !== undefined && { error }),
  remedy,
})

/**
 * The errors to which an agent can react, roughly in the order in which an agent meets them. Tests compare the code and the status
 * of each row with the definition of the problem, and the code, the status and `error` with a real response. Where such a response
 * needs a changed clock, a race or a failure, they compare `error` with the definition instead.
 */
export const AGENT_ERRORS: readonly AgentErrorRow[] = [
  defineRow(
    'invalid-request',
    400,
    'invalid_request',
    'Correct what `errors`, `detail` or `error_description` describes.',
  ),
  defineRow(
    'invalid-client-metadata',
    400,
    'invalid_client_metadata',
    'Correct the members that `errors` names.',
  ),
  defineRow(
    'unsupported-credential-type',
    400,
    'unsupported_credential_type',
    'Leave out `type`, or send `anonymous`.',
  ),
  defineRow(
    'unsupported-grant-type',
    400,
    'unsupported_grant_type',
    `Send \`grant_type\` as a form field: \`client_credentials\`, or \`${JWT_BEARER_GRANT_TYPE}\` with an identity assertion.`,
  ),
  defineRow('invalid-scope', 400, 'invalid_scope', `Leave out \`scope\`. ${CONFIRM_BY_EMAIL}`),
  defineRow(
    'invalid-target',
    400,
    'invalid_target',
    'Leave out `resource`, or send one of the URLs that `error_description` names.',
  ),
  defineRow(
    'invalid-client',
    401,
    'invalid_client',
    'Check your credential: `error_description` names a mistake in an assertion, or in your [document][domain]. If the credential is lost, register again.',
  ),
  defineRow(
    'client-expired',
    401,
    'invalid_client',
    'The registration expired because it was not used. Register again.',
  ),
  defineRow(
    'use-dpop-nonce',
    400,
    'use_dpop_nonce',
    'Make a new [proof][dpop] with the nonce from the header `DPoP-Nonce`, and send the request again.',
  ),
  defineRow(
    'invalid-dpop-proof',
    400,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `error_description` says. No token was issued.',
  ),
  defineRow(
    'dpop-proof-required',
    400,
    'invalid_dpop_proof',
    'Send a [proof][dpop]. `GET /api/agent` says why you need one, and what to do if you lost the key.',
  ),
  defineRow(
    'foreign-token',
    400,
    'invalid_request',
    'To revoke the token, authenticate as the client to which it was issued.',
  ),
  defineRow(
    'invalid-token',
    401,
    'invalid_token',
    'The token expired or was revoked. Get a new one. A token for messages needs a new identity assertion first (`POST /api/agent/assertion`). If the response to that is 409 `no-claim`, follow the row for that code.',
  ),
  defineRow(
    'invalid-token-proof',
    401,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `detail` says. The token is still valid.',
  ),
  defineRow(
    'token-required',
    401,
    undefined,
    `Send a token in \`Authorization: Bearer\`. ${CONFIRM_BY_EMAIL}`,
  ),
  defineRow(
    'insufficient-scope',
    403,
    'insufficient_scope',
    `Get a token with the scope that \`WWW-Authenticate\` names. ${CONFIRM_BY_EMAIL}`,
  ),
  defineRow(
    'invalid-key-proof',
    400,
    'invalid_proof',
    'Nothing changed. Make another proof, as `detail` says.',
  ),
  defineRow(
    'client-has-keys',
    409,
    'client_has_keys',
    'You have keys and no secret: replace the keys instead.',
  ),
  defineRow(
    'client-has-document',
    409,
    'client_has_document',
    'You have no registration: change the keys in your [document][domain].',
  ),
  defineRow('too-many-secrets', 409, 'too_many_secrets', 'Delete one of your two secrets first.'),
  defineRow('last-secret', 409, 'last_secret', 'Get another secret first, or delete the registration.'),
  defineRow('claim-unknown', 400, 'invalid_claim_token', 'Begin with `POST /api/agent/claim`.'),
  defineRow(
    'code-not-shown',
    409,
    'authorization_pending',
    'The person has not pressed "Yes" yet. Wait for them; if no mail came, see [verified e-mail][verified].',
  ),
  defineRow(
    'otp-invalid',
    400,
    'otp_invalid',
    'Ask the person to read the code again. `attempts_remaining` says how many tries are left.',
  ),
  defineRow(
    'otp-expired',
    410,
    'otp_expired',
    'Ask the person to open the link again and press the button for a new code.',
  ),
  defineRow(
    'otp-locked',
    410,
    'otp_locked',
    `Begin again. If the new attempt is locked too, wait ${durationIn('day', RULES.mailboxTriesMs)}. Never guess a code.`,
  ),
  defineRow(
    'claim-completed',
    409,
    'previously_claimed',
    'You are confirmed. Get an identity assertion with `POST /api/agent/assertion`.',
  ),
  defineRow(
    'claim-superseded',
    410,
    'claim_superseded',
    'Send the code of your newest attempt, or begin again.',
  ),
  defineRow(
    'claim-expired',
    410,
    'claim_expired',
    `The link was not used within ${durationIn('hour', RULES.verificationLinkMs)}. Ask the person whether they still want this. If so, begin again.`,
  ),
  defineRow('claim-declined', 410, 'access_denied', 'The person said no. Do not ask them again.'),
  defineRow(
    'no-claim',
    409,
    'no_claim',
    'No confirmation is in force. If one has ended, begin again only if the person tells you to. If there never was one, ask the person first.',
  ),
  defineRow(
    'invalid-grant',
    400,
    'invalid_grant',
    'Get another identity assertion with `POST /api/agent/assertion`.',
  ),
  defineRow(
    'duplicate-message',
    409,
    undefined,
    'We have this message; `first` is its id. You need not send it again.',
  ),
  defineRow('idempotency-key-reused', 422, undefined, 'Use a new `Idempotency-Key` for each message.'),
  defineRow('idempotency-in-progress', 409, undefined, 'Wait a second, then send the same request again.'),
  defineRow(
    'message-withdrawn',
    409,
    undefined,
    'Nothing was sent. If the person still wants it sent, use a new `Idempotency-Key`.',
  ),
  defineRow('message-being-delivered', 409, undefined, 'Try again a little later.'),
  defineRow(
    'already-delivered',
    409,
    undefined,
    'It is too late to withdraw the message. Tell the person what `detail` says.',
  ),
  defineRow(
    'message-may-be-delivered',
    409,
    undefined,
    'The message is erased, but our staff may have it. Tell the person what `detail` says.',
  ),
  defineRow('not-found', 404, undefined, 'Check the address and the id.'),
  defineRow(
    'rate-limited',
    429,
    'rate_limited',
    'Wait for the number of seconds in `Retry-After`, then try again.',
  ),
  defineRow(
    'unavailable',
    503,
    'temporarily_unavailable',
    'Wait for the number of seconds in `Retry-After`, then try again.',
  ),
]
