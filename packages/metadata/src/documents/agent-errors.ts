import { durationIn, RULES } from '@plainpath/domain'

/** One row of the table of errors. */
export interface AgentError {
  /** The last segment of the address of the problem. */
  readonly code: string
  readonly status: number
  /** The code of OAuth, in the body or in the challenge; absent where the response has none. */
  readonly error?: string
  /** Markdown. `[verified]`, `[domain]` and `[dpop]` link the documents about these. */
  readonly remedy: string
}

const CONFIRM =
  'For `contact:write`, let a person [confirm you by e-mail][verified] first. If a confirmation has ended, ask again only if the person tells you to.'

const row = (code: string, status: number, error: string | undefined, remedy: string): AgentError => ({
  code,
  status,
  ...(error !== undefined && { error }),
  remedy,
})

/**
 * The errors that an agent can do something about, in the order in which it may meet them. Tests compare each row with what
 * the service responds.
 */
export const AGENT_ERRORS: readonly AgentError[] = [
  row('invalid-request', 400, 'invalid_request', 'Correct the parts that `errors` or `detail` names.'),
  row('invalid-client-metadata', 400, 'invalid_client_metadata', 'Correct the members that `errors` names.'),
  row(
    'unsupported-credential-type',
    400,
    'unsupported_credential_type',
    'Leave out `type`, or send `anonymous`.',
  ),
  row(
    'unsupported-grant-type',
    400,
    'unsupported_grant_type',
    'Send `grant_type=client_credentials` as a form.',
  ),
  row('invalid-scope', 400, 'invalid_scope', `Leave out \`scope\`. ${CONFIRM}`),
  row(
    'invalid-target',
    400,
    'invalid_target',
    'Leave out `resource`, or send the address that the description names.',
  ),
  row(
    'invalid-client',
    401,
    'invalid_client',
    'Check your credential: the description names a mistake in an assertion, or in your [document][domain]. If the credential is lost, register again.',
  ),
  row(
    'client-expired',
    401,
    'invalid_client',
    'The registration expired because it was not used. Register again.',
  ),
  row(
    'use-dpop-nonce',
    400,
    'use_dpop_nonce',
    'Make a new [proof][dpop] with the nonce of the header `DPoP-Nonce`, and send the request again.',
  ),
  row(
    'invalid-dpop-proof',
    400,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as the description says. No token was issued.',
  ),
  row(
    'dpop-proof-required',
    400,
    'invalid_dpop_proof',
    'Send a [proof][dpop]. `GET /api/agent` says why you need one. If you lost its key, see there.',
  ),
  row('foreign-token', 400, 'invalid_request', 'Revoke the token with the credential that got it.'),
  row(
    'invalid-token',
    401,
    'invalid_token',
    'The token expired or was revoked. Get a new one; for messages, with `POST /api/agent/assertion` first. If that gives `no-claim`, stop.',
  ),
  row(
    'invalid-token-proof',
    401,
    'invalid_dpop_proof',
    'Make a new [proof][dpop], as `detail` says. The token is still valid.',
  ),
  row('token-required', 401, undefined, `Send a token in \`Authorization: Bearer\`. ${CONFIRM}`),
  row(
    'insufficient-scope',
    403,
    'insufficient_scope',
    `Get a token with the scope that \`WWW-Authenticate\` names. ${CONFIRM}`,
  ),
  row('invalid-key-proof', 400, 'invalid_proof', 'Nothing changed. Make another proof, as `detail` says.'),
  row('client-has-keys', 409, 'client_has_keys', 'You have keys and no secret: replace the keys instead.'),
  row(
    'client-has-document',
    409,
    'client_has_document',
    'You have no registration: change the keys in your [document][domain].',
  ),
  row('too-many-secrets', 409, 'too_many_secrets', 'Delete one of your two secrets first.'),
  row('last-secret', 409, 'last_secret', 'Get another secret first, or delete the registration.'),
  row('claim-unknown', 400, 'invalid_claim_token', 'Begin with `POST /api/agent/claim`.'),
  row(
    'code-not-shown',
    409,
    'authorization_pending',
    'The person has not pressed "Yes" yet. Wait for them; if no mail came, see [verified e-mail][verified].',
  ),
  row(
    'otp-invalid',
    400,
    'otp_invalid',
    'Ask the person to read the code again. `attempts_remaining` counts down.',
  ),
  row('otp-expired', 410, 'otp_expired', 'Ask the person to open the link again and press for a new code.'),
  row(
    'otp-locked',
    410,
    'otp_locked',
    `Begin again. If that is refused too, wait ${durationIn('day', RULES.mailboxTriesMs)}. Never guess a code.`,
  ),
  row(
    'claim-completed',
    409,
    'previously_claimed',
    'You are confirmed. Get an identity assertion with `POST /api/agent/assertion`.',
  ),
  row('claim-superseded', 410, 'claim_superseded', 'Use the code of your newest request.'),
  row(
    'claim-expired',
    410,
    'claim_expired',
    `The link was not used for ${durationIn('hour', RULES.claimLinkMs)}. Ask the person, then begin again.`,
  ),
  row('claim-declined', 410, 'access_denied', 'The person said no. Do not ask them again.'),
  row(
    'no-claim',
    409,
    'no_claim',
    'No confirmation is in force. If one has ended, begin again only if the person tells you to. If there never was one, ask the person first.',
  ),
  row(
    'invalid-grant',
    400,
    'invalid_grant',
    'Get another identity assertion with `POST /api/agent/assertion`.',
  ),
  row(
    'duplicate-message',
    409,
    undefined,
    'We have this message; `first` is its id. You need not send it again.',
  ),
  row('idempotency-key-reused', 422, undefined, 'Use a new `Idempotency-Key` for each message.'),
  row('idempotency-in-progress', 409, undefined, 'Wait a second, then send the same request again.'),
  row(
    'message-withdrawn',
    409,
    undefined,
    'Nothing was sent. If the person still wants it sent, use a new key.',
  ),
  row('message-being-delivered', 409, undefined, 'Try again a little later.'),
  row(
    'already-delivered',
    409,
    undefined,
    'It is too late to withdraw it. Tell the person what `detail` says.',
  ),
  row('not-found', 404, undefined, 'Check the address and the id.'),
  row('rate-limited', 429, 'rate_limited', 'Wait for the seconds in `Retry-After`.'),
  row(
    'unavailable',
    503,
    'temporarily_unavailable',
    'Wait for the seconds in `Retry-After`, then try again.',
  ),
]
