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
  readonly verificationId: RegistrationId
  /** The only client that can exchange the assertion. */
  readonly clientId: AgentId
  readonly issuedAt: Date
  readonly expiresAt: Date
}

const Payload = z.object({
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
 * @param issuer also the audience, since only this server exchanges the assertion
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
 * @returns `invalid` unless a published key of this server signed the assertion, and it is valid at `expected.now`,
 *   with a tolerance of 5 s
 */
export async function verifyAssertion(
  jwt: string,
  { publishedKeys }: InstanceKeys,
  expected: { issuer: string; now: Date },
): Promise<Result<IdentityAssertion, 'invalid'>> {
  const findKey = createLocalJWKSet({ keys: publishedKeys as readonly JWK[] as JWK[] })
  const findNamedKey: JWTVerifyGetKey = async (header, input) => {
    if (!header.kid) throw new Error('it names no key')
    return findKey(header, input)
  }
  const verified = await jwtVerify(jwt, findNamedKey, {
    typ: JWT_TYPE,
    algorithms: ['ES256', 'EdDSA'],
    issuer: expected.issuer,
    audience: expected.issuer,
    requiredClaims: ['iat', 'exp', 'jti', 'sub', 'client_id'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: expected.now,
  }).catch(() => undefined)
  const payload = Payload.safeParse(verified?.payload)
  if (!payload.success) return err('invalid')
  const { jti, sub, client_id: clientId, iat, exp } = payload.data
  if (iat > toSeconds(expected.now) + CLOCK_TOLERANCE_SECONDS) return err('invalid')
  return ok({
    jti,
    verificationId: sub,
    clientId,
    issuedAt: new Date(iat * 1000),
    expiresAt: new Date(exp * 1000),
  })
}
