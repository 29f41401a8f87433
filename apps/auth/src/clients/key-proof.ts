import {
  type AgentId,
  type AgentKey,
  ASSERTION_ALGORITHMS,
  err,
  ok,
  type Result,
  RULES,
} from '@plainpath/domain'
import { z } from 'zod'
import { keyThumbprint } from './key-thumbprint.ts'
import {
  CLOCK_TOLERANCE_SECONDS,
  decodeJwt,
  fitsAlgorithm,
  isSignedBy,
  type JwtFault,
  readClaims,
  readHeader,
} from './read-jwt.ts'

/** Used by no other JWT of this service, so that none can be taken for another (RFC 8725 §3.11). */
const PROOF_TYPE = 'jwks-proof+jwt'

/** The only permitted members, as with client assertions: any other could supply the key or rules for verification. */
const Header = z.strictObject({
  typ: z.string().refine((typ) => typ.toLowerCase() === PROOF_TYPE),
  alg: z.enum(ASSERTION_ALGORITHMS),
  kid: z.string().max(128).optional(),
})

const Claims = z.object({
  iss: z.string(),
  aud: z.string(),
  iat: z.int(),
  exp: z.int(),
  jti: z.string().min(1).max(RULES.jtiCharacters),
  /** Thumbprints (RFC 7638) of all keys in the set. */
  jkts: z.array(z.string().max(43)).max(RULES.agentKeys),
})
type Claims = z.infer<typeof Claims>

const MAX_LIFETIME_SECONDS = RULES.keyProofMs / 1000

/** What is wrong with a proof. */
export type KeyProofFault =
  | JwtFault<keyof Claims>
  | 'key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'too-long'
  | 'not-yet'
  | 'key-set'

interface Expected {
  readonly clientId: AgentId
  /** URL of the endpoint that the set is sent to. */
  readonly endpoint: string
  /** Thumbprints of the keys of the set. */
  readonly thumbprints: readonly string[]
  readonly now: Date
}

/** A verified proof that a client can sign with a key. It counts only once it is marked as used. */
export interface VerifiedKeyProof {
  readonly jti: string
  /** The key that signed it. */
  readonly key: AgentKey
  /** From this time it is rejected as expired. */
  readonly expiresAt: Date
}

/** Selects the key that the header names; without `kid`, the only one. @returns undefined if its type does not fit `alg` */
export function selectKey(
  keys: readonly AgentKey[],
  { alg, kid }: Pick<z.infer<typeof Header>, 'alg' | 'kid'>,
) {
  const named =
    kid === undefined ? (keys.length === 1 ? keys[0] : undefined) : keys.find((key) => key.kid === kid)
  return named && fitsAlgorithm(named, alg) ? named : undefined
}

/**
 * Validates the claims of a proof: issued by this client, for this endpoint, valid for at most five minutes, and about
 * exactly the keys in the set.
 *
 * @returns when the proof expires, tolerance included
 */
export function validateKeyProof(
  { iss, aud, iat, exp, jkts }: Omit<Claims, 'jti'>,
  { clientId, endpoint, thumbprints, now: at }: Expected,
): Result<Date, KeyProofFault> {
  const now = at.getTime() / 1000
  if (iss !== clientId) return err('issuer')
  if (aud !== endpoint) return err('audience')
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (exp - iat > MAX_LIFETIME_SECONDS) return err('too-long')
  if (iat > now + CLOCK_TOLERANCE_SECONDS) return err('not-yet')
  if (jkts.toSorted().join() !== thumbprints.toSorted().join()) return err('key-set')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

async function verifyKeyProof(
  text: string,
  keys: readonly AgentKey[],
  expected: Expected,
): Promise<Result<VerifiedKeyProof, KeyProofFault>> {
  const decoded = decodeJwt(text)
  const header = readHeader(Header, decoded?.header)
  if (!header.ok) return header
  const key = selectKey(keys, header.value)
  if (!key) return err('key')
  if (!(await isSignedBy({ text, header: header.value }, key))) return err('signature')
  const claims = readClaims(Claims, decoded?.claims)
  if (!claims.ok) return claims
  const judged = validateKeyProof(claims.value, expected)
  return judged.ok ? ok({ jti: claims.value.jti, key, expiresAt: judged.value }) : judged
}

/** Verifies each proof. The caller marks them as used. @returns the first fault, with the index of its proof */
export async function verifyKeyProofs(
  proofs: readonly string[],
  keys: readonly AgentKey[],
  given: Omit<Expected, 'thumbprints'>,
): Promise<Result<readonly VerifiedKeyProof[], { readonly fault: KeyProofFault; readonly index: number }>> {
  const expected = { ...given, thumbprints: await Promise.all(keys.map(keyThumbprint)) }
  const verified: VerifiedKeyProof[] = []
  for (const [index, text] of proofs.entries()) {
    const proof = await verifyKeyProof(text, keys, expected)
    if (!proof.ok) return err({ fault: proof.error, index })
    verified.push(proof.value)
  }
  return ok(verified)
}
