import { generateKeyPairSync } from 'node:crypto'
import { type AgentId, AgentKey, ASSERTION_ALGORITHMS, err, ok, type Result, RULES } from '@plainpath/domain'
import { compactVerify, errors } from 'jose'
import { z } from 'zod'

/** Longer assertions are rejected unread; a typical one has about 500 characters. */
const MAX_LENGTH = 4096

/**
 * The only permitted header members. Any other (`jwk`, `jku`, `x5u`, `crit`, `b64`, …) would let the client supply the
 * key or the rules by which it is verified (RFC 7515 §4.1, RFC 8725 §3).
 */
const Header = z.strictObject({
  alg: z.enum(ASSERTION_ALGORITHMS),
  kid: z.string().max(128).optional(),
  typ: z.string().max(40).optional(),
})

/** RFC 7523 §3, its revision (rfc7523bis) for `typ`. */
const TYPES = new Set(['jwt', 'client-authentication+jwt'])

const Claims = z.object({
  iss: z.string(),
  sub: z.string().max(100),
  aud: z.string(),
  exp: z.int(),
  jti: z.string().min(1).max(RULES.jtiCharacters),
  iat: z.number().optional(),
  nbf: z.number().optional(),
})

/** RFC 7523 §3 leaves the maximum lifetime to the server. */
const MAX_LIFETIME_SECONDS = RULES.clientAssertionMs / 1000
/** Tolerated clock skew of clients. */
export const CLOCK_TOLERANCE_SECONDS = 10

export interface ClientAssertion {
  /** The JWT as it was sent. */
  readonly text: string
  readonly header: z.infer<typeof Header>
  readonly claims: z.infer<typeof Claims>
}

/** Parses an assertion without verifying it. @returns undefined for malformed text */
export function parseAssertion(text: string): ClientAssertion | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const parts = decodeJwt(text)
  const [header, claims] = [Header.safeParse(parts?.header), Claims.safeParse(parts?.claims)]
  if (!header.success || !claims.success) return undefined
  if (header.data.typ !== undefined && !TYPES.has(header.data.typ.toLowerCase())) return undefined
  return { text, header: header.data, claims: claims.data }
}

/** Decodes a signed JWT without verifying it. @returns undefined unless it has three parts */
export function decodeJwt(text: string): { readonly header: unknown; readonly claims: unknown } | undefined {
  const parts = text.split('.')
  return parts.length === 3 ? { header: decodePart(parts[0]), claims: decodePart(parts[1]) } : undefined
}

function decodePart(part: string | undefined): unknown {
  if (!part || !/^[A-Za-z0-9_-]+$/.test(part)) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
  } catch {
    return undefined
  }
}

/** Selects the key that the header names; without `kid`, the only one. @returns undefined if its type does not fit `alg` */
export function selectKey(keys: readonly AgentKey[], { alg, kid }: ClientAssertion['header']) {
  const named =
    kid === undefined ? (keys.length === 1 ? keys[0] : undefined) : keys.find((key) => key.kid === kid)
  return named?.kty === (alg === 'ES256' ? 'EC' : 'OKP') ? named : undefined
}

type AssertionFault = 'issuer' | 'audience' | 'expired' | 'too-long' | 'not-yet'

/**
 * Validates the claims of an assertion (RFC 7523 §3): issued by and about the client, for exactly this issuer, valid for
 * at most five minutes. `parseAssertion` has rejected an array as `aud`: with two audiences, another server that
 * received the assertion could replay it here.
 *
 * @returns when the assertion expires, tolerance included
 */
export function validateClaims(
  { claims: { iss, sub, aud, exp, iat, nbf } }: Pick<ClientAssertion, 'claims'>,
  expected: { issuer: string; now: Date },
): Result<Date, AssertionFault> {
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
 * Creates the function that verifies an assertion: first the signature, then the claims. The caller marks it as used
 * afterwards, so that nobody else can use up a client's `jti`. For an undefined client it does the same work and fails.
 */
export function assertionVerifier(issuer: string) {
  const dummyKeys = generateDummyKeys()
  return async (
    assertion: ClientAssertion,
    client: { readonly id: AgentId; readonly keys: readonly AgentKey[] } | undefined,
    now: Date,
  ): Promise<VerifiedAssertion | undefined> => {
    const key = client && selectKey(client.keys, assertion.header)
    const isSigned = await isSignedBy(assertion, key ?? dummyKeys[assertion.header.alg])
    const { sub, jti } = assertion.claims
    if (!client || !key || !isSigned || sub !== client.id) return undefined
    const judged = validateClaims(assertion, { issuer, now })
    return judged.ok ? { clientId: client.id, jti, key, expiresAt: judged.value } : undefined
  }
}

/** Verifies the signature with the key, by the algorithm of the header. */
export async function isSignedBy(
  { text, header }: Pick<ClientAssertion, 'text' | 'header'>,
  { kty, crv, x, y }: AgentKey,
): Promise<boolean> {
  try {
    await compactVerify(text, { kty, crv, x, ...(y && { y }) }, { algorithms: [header.alg] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}

/** Generates keys to verify against for an unknown client, so that it takes as long as a wrong signature. */
function generateDummyKeys() {
  const members = { kid: 'nobody', use: 'sig' }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const ofEd25519 = AgentKey.parse({ ...okp, ...members, alg: 'EdDSA' })
  return { ES256: AgentKey.parse({ ...ec, ...members, alg: 'ES256' }), EdDSA: ofEd25519, Ed25519: ofEd25519 }
}
