import { generateKeyPairSync } from 'node:crypto'
import { type AgentId, AgentKey, ASSERTION_ALGORITHMS, err, ok, type Result, RULES } from '@plainpath/domain'
import { z } from 'zod'
import {
  CLOCK_TOLERANCE_SECONDS,
  decodeUnverifiedJwt,
  fitsAlgorithm,
  isSignedBy,
  type JwtFault,
  parseClaims,
  parseHeader,
} from './parse-jwt.ts'

/** A longer assertion is rejected without being decoded. A typical one has about 500 characters. */
export const MAX_ASSERTION_LENGTH = 4096
export const MAX_KID_LENGTH = 128

/** The accepted values of `typ`, in lower case (RFC 7523 §3 and its revision, rfc7523bis). */
const ACCEPTED_TYPES = new Set(['jwt', 'client-authentication+jwt'])

/**
 * The only permitted header parameters. Others (`jwk`, `jku`, `x5u`, `crit`, `b64`, …) would let the client supply the
 * key or the rules for verification (RFC 7515 §4.1, RFC 8725 §3).
 */
const Header = z.strictObject({
  alg: z.enum(ASSERTION_ALGORITHMS),
  kid: z.string().max(MAX_KID_LENGTH).optional(),
  typ: z
    .string()
    .refine((typ) => ACCEPTED_TYPES.has(typ.toLowerCase()))
    .optional(),
})

const Claims = z.object({
  iss: z.string(),
  /** A `client_id`, which has at most 255 characters. */
  sub: z.string().max(255),
  aud: z.string(),
  exp: z.int(),
  jti: z.string().min(1).max(RULES.jtiCharacters),
  iat: z.number().optional(),
  nbf: z.number().optional(),
})

/** RFC 7523 §3 leaves the maximum lifetime to the server. */
const MAX_LIFETIME_SECONDS = RULES.clientAssertionMs / 1000

export interface ClientAssertion {
  /** The JWT as the client sent it. */
  readonly text: string
  readonly header: z.infer<typeof Header>
  readonly claims: z.infer<typeof Claims>
}

/** A fault in the form of an assertion. */
export type FormatFault = 'assertion-too-long' | JwtFault<keyof z.infer<typeof Claims>>
type ClaimsFault = 'issuer' | 'audience' | 'expired' | 'lifetime-too-long' | 'not-yet'

/** A fault in the content of an assertion. It does not depend on the client that the assertion names. */
export type ContentFault = FormatFault | ClaimsFault

/** Parses an assertion without verifying it. */
export function parseAssertion(text: string): Result<ClientAssertion, FormatFault> {
  if (text.length > MAX_ASSERTION_LENGTH) return err('assertion-too-long')
  const parts = decodeUnverifiedJwt(text)
  const header = parseHeader(Header, parts?.header)
  if (!header.ok) return header
  const claims = parseClaims(Claims, parts?.claims)
  return claims.ok ? ok({ text, header: header.value, claims: claims.value }) : claims
}

/**
 * Validates the claims of an assertion (RFC 7523 §3). Its issuer and subject must be the same client, its audience must
 * be `expected.issuer`, and its lifetime at most five minutes. `parseAssertion` has rejected an array as `aud`: with
 * two audiences, another server that received the assertion could replay it here.
 *
 * @returns when the assertion expires, including the tolerance
 */
export function validateClaims(
  { claims: { iss, sub, aud, exp, iat, nbf } }: Pick<ClientAssertion, 'claims'>,
  expected: { issuer: string; now: Date },
): Result<Date, ClaimsFault> {
  const nowSeconds = expected.now.getTime() / 1000
  const latestAcceptedTime = nowSeconds + CLOCK_TOLERANCE_SECONDS
  if (iss !== sub) return err('issuer')
  if (aud !== expected.issuer) return err('audience')
  if (exp <= nowSeconds - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (
    exp > latestAcceptedTime + MAX_LIFETIME_SECONDS ||
    (iat !== undefined && exp - iat > MAX_LIFETIME_SECONDS)
  )
    return err('lifetime-too-long')
  if (Math.max(iat ?? 0, nbf ?? 0) > latestAcceptedTime) return err('not-yet')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

/**
 * Why a signature does not authenticate a client. `signature-unverified`: no key of the client made it, or there is no such
 * client. `kid-mismatch`: a key of the client made it, but not the one that `kid` names.
 */
export type SignatureFault = 'signature-unverified' | 'kid-mismatch'

/** A verified assertion. It authenticates the client only after it has been marked as used. */
export interface VerifiedAssertion {
  readonly clientId: AgentId
  readonly jti: string
  /** The key that signed it. */
  readonly key: AgentKey
  /** The assertion is rejected as expired from this time on. */
  readonly expiresAt: Date
}

/**
 * Creates the function that verifies an assertion: first its claims, for which no client is needed, then its signature. The
 * caller marks it as used afterwards, so an unverified assertion cannot use up the `jti` of a client.
 *
 * Without `kid`, any key of the client may have made the signature: some libraries send none, and a client that changes
 * its keys has two. If no key made the signature, it is verified against as many keys as a client can have. So the
 * response time does not reveal how many keys the client has, or whether it exists.
 */
export function createAssertionVerifier(issuer: string) {
  const dummyKeys = generateDummyKeys()
  return async (
    assertion: ClientAssertion,
    client: { readonly id: AgentId; readonly keys: readonly AgentKey[] } | undefined,
    now: Date,
  ): Promise<Result<VerifiedAssertion, ContentFault | SignatureFault>> => {
    const { sub, jti } = assertion.claims
    const expiresAt = validateClaims(assertion, { issuer, now })
    if (!expiresAt.ok) return expiresAt
    const { alg, kid } = assertion.header
    const isNamed = (key: AgentKey) => kid === undefined || key.kid === kid
    const fittingKeys = client?.id === sub ? client.keys.filter((key) => fitsAlgorithm(key, alg)) : []
    const candidates = [...fittingKeys.filter(isNamed), ...fittingKeys.filter((key) => !isNamed(key))]
    for (let index = 0; index < RULES.agentKeys; index++) {
      const key = candidates[index]
      const isSigned = await isSignedBy(assertion, key ?? dummyKeys[alg])
      if (!client || !key || !isSigned) continue
      return isNamed(key)
        ? ok({ clientId: client.id, jti, key, expiresAt: expiresAt.value })
        : err('kid-mismatch')
    }
    return err('signature-unverified')
  }
}

/** Generates the keys against which a signature is verified in place of keys that the client does not have. */
function generateDummyKeys() {
  const members = { kid: 'nobody', use: 'sig' }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const ed25519Key = AgentKey.parse({ ...okp, ...members, alg: 'EdDSA' })
  return {
    ES256: AgentKey.parse({ ...ec, ...members, alg: 'ES256' }),
    EdDSA: ed25519Key,
    Ed25519: ed25519Key,
  }
}
