import { expect, test } from 'vitest'
import { createProblemDocument, Problem, toOauthDescription, toOauthError } from './problem.ts'
import { getProblemKind, PROBLEM_CODES } from './problems.ts'

/*
 * The error codes (decision 35): `code` names each kind of problem. Each code has one `error` of OAuth, and each
 * `error` has one code, except for four that the RFCs define for several mistakes.
 */

const codesByError = Map.groupBy(PROBLEM_CODES, toOauthError)

test('each OAuth error belongs to one code, except four that the RFCs define more broadly', () => {
  const sharedErrors = [...codesByError].filter(([, codes]) => codes.length > 1).map(([error]) => error)
  expect(sharedErrors.toSorted()).toEqual([
    'invalid_client',
    'invalid_dpop_proof',
    'invalid_request',
    'invalid_token',
  ])
  expect(codesByError.get('invalid_client')).toEqual(['invalid-client', 'client-expired'])
  expect(codesByError.get('invalid_dpop_proof')).toEqual([
    'invalid-dpop-proof',
    'dpop-proof-required',
    'invalid-token-proof',
  ])
  expect(codesByError.get('invalid_token')).toEqual(['token-required', 'invalid-token'])
  for (const code of codesByError.get('invalid_request') ?? [])
    expect(getProblemKind(code).oauth, code).toBeUndefined()
})

test('these codes have an OAuth error other than the default', () => {
  const codesWithErrors = PROBLEM_CODES.flatMap((code) => {
    const { oauth } = getProblemKind(code)
    return oauth === undefined ? [] : [`${code} ${oauth}`]
  })
  expect(codesWithErrors).toMatchInlineSnapshot(`
    [
      "invalid-client-metadata invalid_client_metadata",
      "invalid-redirect-uri invalid_redirect_uri",
      "invalid-key-proof invalid_proof",
      "unsupported-credential-type unsupported_credential_type",
      "invalid-grant invalid_grant",
      "invalid-scope invalid_scope",
      "invalid-target invalid_target",
      "unauthorized-client unauthorized_client",
      "unsupported-grant-type unsupported_grant_type",
      "unsupported-token-type unsupported_token_type",
      "invalid-client invalid_client",
      "client-expired invalid_client",
      "invalid-dpop-proof invalid_dpop_proof",
      "use-dpop-nonce use_dpop_nonce",
      "dpop-proof-required invalid_dpop_proof",
      "invalid-token-proof invalid_dpop_proof",
      "last-secret last_secret",
      "too-many-secrets too_many_secrets",
      "client-has-keys client_has_keys",
      "client-has-document client_has_document",
      "token-required invalid_token",
      "invalid-token invalid_token",
      "insufficient-scope insufficient_scope",
      "otp-invalid otp_invalid",
      "claim-unknown invalid_claim_token",
      "no-claim no_claim",
      "code-not-shown authorization_pending",
      "claim-completed previously_claimed",
      "otp-expired otp_expired",
      "otp-locked otp_locked",
      "claim-expired claim_expired",
      "claim-superseded claim_superseded",
      "claim-declined access_denied",
      "rate-limited rate_limited",
      "internal-error server_error",
      "unavailable temporarily_unavailable",
    ]
  `)
})

test.for(PROBLEM_CODES)('the texts of %s are sentences in characters that OAuth allows', (code) => {
  const { title, status, meaning, remedy } = getProblemKind(code)
  expect(title).toMatch(/^[A-Z].*[^.]$/)
  for (const text of [meaning, remedy]) expect(text).toMatch(/^[A-Z].*\.$/)
  expect(status).toBeGreaterThanOrEqual(400)
  const request = { origin: 'https://plainpath.example', path: '/oauth/token', requestId: 'id' }
  const { detail } = createProblemDocument(new Problem(code), request)
  // RFC 6749 §5.2 allows few characters. Others would be replaced.
  expect(toOauthDescription(detail)).toBe(detail)
})
