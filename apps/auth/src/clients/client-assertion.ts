import { generateKeyPairSync } from 'node:crypto'
import { type AgentId, AgentKey, ASSERTION_ALGORITHMS, err, ok, type Result, RULES } from '@plainpath/domain'
import { z } from 'zod'
import {
  CLOCK_TOLERANCE_SECONDS,
  decodeJwt,
  fitsAlgorithm,
  isSignedBy,
  type JwtFault,
  readClaims,
  readHeader,
} from './read-jwt.ts'

/** Longer assertions are rejected unread; a typical one has about 500 characters. */
export const MAX_ASSERTION_LENGTH = 4096
export const MAX_KID_LENGTH = 128

/** RFC 7523 §3, its revision (rfc7523bis) for `typ`. */
const TYPES = new Set(['jwt', 'client-authentication+jwt'])

/**
 * The only permitted header members. Any other (`jwk`, `jku`, `x5u`, `crit`, `b64`, …) would let the client supply the
 * key or the rules by which it is verified (RFC 7515 §4.1, RFC 8725 §3).
 */
const Header = z.strictObject({
  alg: z.enum(ASSERTION_ALGORITHMS),
  kid: z.string().max(MAX_KID_LENGTH).optional(),
  typ: z
    .string()
    .refine((typ) => TYPES.has(typ.toLowerCase()))
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
  /** The JWT as it was sent. */
  readonly text: string
  readonly header: z.infer<typeof Header>
  readonly claims: z.infer<typeof Claims>
}

type FormFault = 'length' | JwtFault<keyof z.infer<typeof Claims>>
type ClaimsFault = 'issuer' | 'audience' | 'expired' | 'too-long' | 'not-yet'

/** What is wrong with the content of an assertion. It does not depend on the client that the assertion names. */
export type ContentFault = FormFault | ClaimsFault

/** Parses an assertion without verifying it. */
export function parseAssertion(text: string): Result<ClientAssertion, FormFault> {
  if (text.length > MAX_ASSERTION_LENGTH) return err('length')
  const parts = decodeJwt(text)
  const header = readHeader(Header, parts?.header)
  if (!header.ok) return header
  const claims = readClaims(Claims, parts?.claims)
  return claims.ok ? ok({ text, header: header.value, claims: claims.value }) : claims
}

/**
 * Validates the claims of an assertion (RFC 7523 §3): issued by and about one client, for exactly this issuer, valid for
 * at most five minutes. `parseAssertion` has rejected an array as `aud`: with two audiences, another server that
 * received the assertion could replay it here.
 *
 * @returns when the assertion expires, tolerance included
 */
export function validateClaims(
  { claims: { iss, sub, aud, exp, iat, nbf } }: Pick<ClientAssertion, 'claims'>,
  expected: { issuer: string; now: Date },
): Result<Date, ClaimsFault> {
  const now = expected.now.getTime() / 1000
  const latest = now + CLOCK_TOLERANCE_SECONDS
  if (iss !== sub) return err('issuer')
  if (aud !== expected.issuer) return err('audience')
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (exp > latest + MAX_LIFETIME_SECONDS || (iat !== undefined && exp - iat > MAX_LIFETIME_SECONDS))
    return err('too-long')
  if (Math.max(iat ?? 0, nbf ?? 0) > latest) return err('not-yet')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

/**
 * Why the signature of an assertion authenticates no client. `unproven`: no key of the client made it, or there is no such
 * client. `other-key`: a key of the client made it, but not the one that `kid` names.
 */
export type SignatureFault = 'unproven' | 'other-key'

/** A verified assertion. It authenticates the client only once it is marked as used. */
export interface VerifiedAssertion {
  readonly clientId: AgentId
  readonly jti: string
  /** The key that signed it. */
  readonly key: AgentKey
  /** From this time it is rejected as expired. */
  readonly expiresAt: Date
}

/**
 * Creates the function that verifies an assertion: first the claims, which takes no client, then the signature. The caller
 * marks it as used afterwards, so that nobody else can use up a client's `jti`.
 *
 * Without `kid` any key of the client may have made the signature: some libraries send none, and a client that changes its
 * keys has two. A signature that no key made is verified against as many keys as a client may have, whether the client has
 * them, has fewer or does not exist, so that the response time reveals none of that.
 */
export function assertionVerifier(issuer: string) {
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
    const fitting = client?.id === sub ? client.keys.filter((key) => fitsAlgorithm(key, alg)) : []
    const candidates = [...fitting.filter(isNamed), ...fitting.filter((key) => !isNamed(key))]
    for (let n = 0; n < RULES.agentKeys; n++) {
      const key = candidates[n]
      const isSigned = await isSignedBy(assertion, key ?? dummyKeys[alg])
      if (!client || !key || !isSigned) continue
      return isNamed(key)
        ? ok({ clientId: client.id, jti, key, expiresAt: expiresAt.value })
        : err('other-key')
    }
    return err('unproven')
  }
}

/** Generates keys to verify against where a client has none, so that it takes as long. */
function generateDummyKeys() {
  const members = { kid: 'nobody', use: 'sig' }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const ofEd25519 = AgentKey.parse({ ...okp, ...members, alg: 'EdDSA' })
  return { ES256: AgentKey.parse({ ...ec, ...members, alg: 'ES256' }), EdDSA: ofEd25519, Ed25519: ofEd25519 }
}
