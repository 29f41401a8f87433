import { AgentId, err, ok, RegistrationId, type Result } from '@plainpath/domain'
import { createLocalJWKSet, importJWK, type JWK, type JWTVerifyGetKey, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { InstanceKeys } from '../keys/signing-key.ts'

/** Distinguishes an identity assertion from every other JWT signed with the same keys (RFC 8725 §3.11). */
const JWT_TYPE = 'identity-assertion+jwt'
const CLOCK_TOLERANCE_SECONDS = 5

/** A statement that the person behind a client controls a mailbox. It does not contain the address. */
export interface IdentityAssertion {
  readonly jti: string
  /** The id of the e-mail verification. The public API calls it `registration_id`. */
  readonly verificationId: RegistrationId
  /** The only client that can exchange the assertion for an access token. */
  readonly clientId: AgentId
  readonly issuedAt: Date
  readonly expiresAt: Date
}

const AssertionClaims = z.object({
  jti: z.uuid(),
  sub: RegistrationId,
  client_id: AgentId,
  aud: z.string(),
  iat: z.int(),
  exp: z.int(),
})

const toSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

/**
 * Signs an identity assertion.
 *
 * @param issuer also the audience, since only this server accepts the assertion
 */
export async function signAssertion(
  { jti, verificationId, clientId, issuedAt, expiresAt }: IdentityAssertion,
  { signingKey }: InstanceKeys,
  issuer: string,
): Promise<string> {
  return new SignJWT({ client_id: clientId, identity_type: 'verified_email' })
    .setProtectedHeader({ typ: JWT_TYPE, alg: signingKey.alg, kid: signingKey.kid })
    .setIssuer(issuer)
    .setAudience(issuer)
    .setSubject(verificationId)
    .setJti(jti)
    .setIssuedAt(toSeconds(issuedAt))
    .setExpirationTime(toSeconds(expiresAt))
    .sign(await importJWK(signingKey as JWK, signingKey.alg))
}

/**
 * Verifies the signature and the claims of an identity assertion (RFC 7523 §3). Does not check whether the assertion
 * was revoked.
 *
 * @returns `invalid` unless a published key of this server signed the assertion, and the assertion has this issuer and audience
 *   and is valid at `expected.now`, with a tolerance of 5 s
 */
export async function verifyAssertion(
  jwt: string,
  { publishedKeys }: InstanceKeys,
  expected: { issuer: string; now: Date },
): Promise<Result<IdentityAssertion, 'invalid'>> {
  // jose declares a mutable array, but copies it.
  const findKey = createLocalJWKSet({ keys: publishedKeys as readonly JWK[] as JWK[] })
  const findNamedKey: JWTVerifyGetKey = async (header, input) => {
    // Without a kid, jose would choose a key by its algorithm.
    if (!header.kid) throw new Error('the header has no kid')
    return findKey(header, input)
  }
  // Every failure means that the assertion is invalid; the caller needs no reason.
  const verified = await jwtVerify(jwt, findNamedKey, {
    typ: JWT_TYPE,
    algorithms: ['ES256', 'EdDSA'],
    issuer: expected.issuer,
    audience: expected.issuer,
    requiredClaims: ['iat', 'exp', 'jti', 'sub', 'client_id'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: expected.now,
  }).catch(() => undefined)
  const claims = AssertionClaims.safeParse(verified?.payload)
  if (!claims.success) return err('invalid')
  const { jti, sub, client_id: clientId, iat, exp } = claims.data
  // jose rejects an iat in the future only if `maxTokenAge` is set.
  if (iat > toSeconds(expected.now) + CLOCK_TOLERANCE_SECONDS) return err('invalid')
  return ok({
    jti,
    verificationId: sub,
    clientId,
    issuedAt: new Date(iat * 1000),
    expiresAt: new Date(exp * 1000),
  })
}
