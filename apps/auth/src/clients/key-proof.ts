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
import { MAX_KID_LENGTH } from './client-assertion.ts'
import { areSameKeys, computeKeyThumbprints } from './key-thumbprint.ts'
import {
  CLOCK_TOLERANCE_SECONDS,
  decodeUnverifiedJwt,
  fitsAlgorithm,
  isSignedBy,
  type JwtFault,
  parseClaims,
  parseHeader,
} from './parse-jwt.ts'

/** The `typ` of proofs. No other JWT of this service has it, so no other JWT can be used as a proof (RFC 8725 §3.11). */
const PROOF_TYPE = 'jwks-proof+jwt'

/** The only permitted members, as in client assertions. Other members could supply the key or the rules for verification. */
const Header = z.strictObject({
  typ: z.string().refine((typ) => typ.toLowerCase() === PROOF_TYPE),
  alg: z.enum(ASSERTION_ALGORITHMS),
  kid: z.string().max(MAX_KID_LENGTH).optional(),
})

const Claims = z.object({
  iss: z.string(),
  aud: z.string(),
  iat: z.int(),
  exp: z.int(),
  jti: z.string().min(1).max(RULES.jtiCharacters),
  /** Thumbprints (RFC 7638) of all keys in the set: SHA-256 in base64url, which has 43 characters. */
  jkts: z.array(z.string().max(43)).max(RULES.agentKeys),
})
type Claims = z.infer<typeof Claims>

const MAX_LIFETIME_SECONDS = RULES.keyProofMs / 1000

/** The reason why a proof is refused. `agent-routes.ts` describes each. */
export type KeyProofFault =
  | JwtFault<keyof Claims>
  | 'key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'lifetime-too-long'
  | 'not-yet'
  | 'key-set'

interface ProofExpectations {
  readonly clientId: AgentId
  /** The URL of the endpoint to which the set is sent. */
  readonly endpoint: string
  /** Thumbprints of the keys of the set. */
  readonly thumbprints: readonly string[]
  readonly now: Date
}

/** A verified proof that a client can sign with a key. It counts only after it has been marked as used. */
export interface VerifiedKeyProof {
  readonly jti: string
  /** The key that signed it. */
  readonly key: AgentKey
  /** The proof is rejected as expired from this time on. */
  readonly expiresAt: Date
}

/**
 * Selects the key that the header names. Without `kid`, selects the only key of the set.
 *
 * @returns undefined if there is no such key, or its type does not fit `alg`
 */
export function selectKey(
  keys: readonly AgentKey[],
  { alg, kid }: Pick<z.infer<typeof Header>, 'alg' | 'kid'>,
) {
  const onlyKey = keys.length === 1 ? keys[0] : undefined
  const selectedKey = kid === undefined ? onlyKey : keys.find((key) => key.kid === kid)
  return selectedKey && fitsAlgorithm(selectedKey, alg) ? selectedKey : undefined
}

/**
 * Validates the claims of a proof. The client must have issued the proof for this endpoint, with a lifetime of at most
 * five minutes, and the proof must name exactly the keys of the set.
 *
 * @returns when the proof expires, including the tolerance
 */
export function validateKeyProof(
  { iss, aud, iat, exp, jkts }: Omit<Claims, 'jti'>,
  { clientId, endpoint, thumbprints, now }: ProofExpectations,
): Result<Date, KeyProofFault> {
  const nowSeconds = now.getTime() / 1000
  if (iss !== clientId) return err('issuer')
  if (aud !== endpoint) return err('audience')
  if (exp <= nowSeconds - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (exp - iat > MAX_LIFETIME_SECONDS) return err('lifetime-too-long')
  if (iat > nowSeconds + CLOCK_TOLERANCE_SECONDS) return err('not-yet')
  if (!areSameKeys(jkts, thumbprints)) return err('key-set')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

async function verifyKeyProof(
  text: string,
  keys: readonly AgentKey[],
  expected: ProofExpectations,
): Promise<Result<VerifiedKeyProof, KeyProofFault>> {
  const decoded = decodeUnverifiedJwt(text)
  const header = parseHeader(Header, decoded?.header)
  if (!header.ok) return header
  const key = selectKey(keys, header.value)
  if (!key) return err('key')
  if (!(await isSignedBy({ text, header: header.value }, key))) return err('signature')
  const claims = parseClaims(Claims, decoded?.claims)
  if (!claims.ok) return claims
  const validated = validateKeyProof(claims.value, expected)
  return validated.ok ? ok({ jti: claims.value.jti, key, expiresAt: validated.value }) : validated
}

/**
 * Verifies each proof. The caller marks the proofs as used.
 *
 * @returns the first fault, with the index of its proof
 */
export async function verifyKeyProofs(
  proofs: readonly string[],
  keys: readonly AgentKey[],
  options: Omit<ProofExpectations, 'thumbprints'>,
): Promise<Result<readonly VerifiedKeyProof[], { readonly fault: KeyProofFault; readonly index: number }>> {
  const expected = { ...options, thumbprints: await computeKeyThumbprints(keys) }
  const verifiedProofs: VerifiedKeyProof[] = []
  for (const [index, text] of proofs.entries()) {
    const proof = await verifyKeyProof(text, keys, expected)
    if (!proof.ok) return err({ fault: proof.error, index })
    verifiedProofs.push(proof.value)
  }
  return ok(verifiedProofs)
}
