import type { Features } from '../features.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'

const ERRORS = [
  [
    'invalid-request',
    400,
    'invalid_request',
    'A part of the request is missing or malformed: read `detail`.',
  ],
  [
    'invalid-client-metadata',
    400,
    'invalid_client_metadata',
    'A member of the registration cannot be accepted: read `errors`.',
  ],
  [
    'unsupported-credential-type',
    400,
    'unsupported_credential_type',
    'Leave `type` out of the registration, or send `anonymous`.',
  ],
  [
    'unsupported-grant-type',
    400,
    'unsupported_grant_type',
    'Send `grant_type=client_credentials`, as a form.',
  ],
  [
    'otp-invalid',
    400,
    'otp_invalid',
    'Ask the person to read the code again. `attempts_remaining` says how often you still can.',
  ],
  ['claim-unknown', 400, 'invalid_claim_token', 'Begin a claim first.'],
  [
    'invalid-grant',
    400,
    'invalid_grant',
    'The assertion is over, or the confirmation has ended: `POST /api/agent/assertion`. If that says `no_claim`, begin a claim.',
  ],
  ['invalid-scope', 400, 'invalid_scope', 'None of the scopes can be yours: leave `scope` out.'],
  ['invalid-target', 400, 'invalid_target', 'Leave `resource` out, or send the one above.'],
  [
    'invalid-client',
    401,
    'invalid_client',
    'Unknown client, wrong secret, or a registration that has ended: check them, else register again.',
  ],
  [
    'client-expired',
    401,
    'invalid_client',
    'The registration was not used for too long and has ended: register again.',
  ],
  ['invalid-token', 401, 'invalid_token', 'The token has ended: get a new one.'],
  ['token-required', 401, 'invalid_token', 'Send a token in the header `Authorization: Bearer`.'],
  ['insufficient-scope', 403, 'insufficient_scope', 'Get a token with the scope that the challenge names.'],
  ['last-secret', 409, 'last_secret', 'Get another secret first, or end the registration.'],
  ['too-many-secrets', 409, 'too_many_secrets', 'End one of the two secrets first.'],
  ['client-has-keys', 409, 'client_has_keys', 'Replace your keys instead: you have no secret.'],
  [
    'no-claim',
    409,
    'no_claim',
    'Nobody has confirmed you, or that has ended: ask the person, then begin a claim.',
  ],
  [
    'code-not-shown',
    409,
    'authorization_pending',
    'The person has not pressed the button yet: ask them, then try again.',
  ],
  [
    'claim-completed',
    409,
    'previously_claimed',
    'A code works once. If the answer was lost, begin a new claim.',
  ],
  [
    'otp-expired',
    410,
    'otp_expired',
    'Ask the person to open the link again and press for a new code. If three codes were shown already, begin a new claim.',
  ],
  [
    'otp-locked',
    410,
    'otp_locked',
    'Begin a new claim. If that is refused too, wait a day. Never guess a code.',
  ],
  ['claim-expired', 410, 'claim_expired', 'The link was not used for 24 hours: begin a new claim.'],
  ['claim-superseded', 410, 'claim_superseded', 'Use the code of your newest attempt.'],
  ['claim-declined', 410, 'access_denied', 'The person said no: do not ask again.'],
  ['claim-failed', 410, 'claim_failed', 'The mail was not taken: check the address with the person.'],
  ['rate-limited', 429, 'rate_limited', 'Wait for the seconds in `Retry-After`.'],
  [
    'unavailable',
    503,
    'temporarily_unavailable',
    'It may or may not have been done. Wait for `Retry-After`, then look first, or send it again, with the same `Idempotency-Key` where there is one.',
  ],
] as const

const OF_CONTACT = /^(insufficient-scope|token-required)$/
const OF_CLAIMS = /^(claim|otp|code)-|^(invalid-grant|no-claim)$/

/** Nothing asks for a scope until contact messages run, and nobody meets the errors of claims until those do. */
const rowsOf = ({ contact, verifiedEmail }: Features) =>
  ERRORS.filter(([code]) => (contact || !OF_CONTACT.test(code)) && (verifiedEmail || !OF_CLAIMS.test(code)))

/** Who lacks `contact:write` meets these. */
const OF_SCOPES = /^(insufficient-scope|invalid-scope|token-required)$/
const TO_CONTACT = ' For `contact:write` let a person confirm you first: section 6.'

/** The table of errors that an agent can meet on its way to a guide. */
export function authMdErrors({ origin, features }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  const leads = features.contact && features.verifiedEmail
  const rows = rowsOf(features).map(([code, status, error, next]) => {
    const whatToDo = leads && OF_SCOPES.test(code) ? next + TO_CONTACT : next
    return `| \`${error}\` | ${status} | ${whatToDo} | ${urls.problem(code)} |`
  })
  return `
## Errors

Under \`/api/agent\` errors are \`application/problem+json\` with \`error\` and \`error_description\`; under \`/oauth\` they are the JSON of RFC 6749 with \`error_uri\`; elsewhere \`application/problem+json\`. Decide by \`error\`, or by the last segment of \`type\`.

| \`error\` | status | what to do | page |
|---|---|---|---|
${rows.join('\n')}`
}
