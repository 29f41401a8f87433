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
import { CLOCK_TOLERANCE_SECONDS, decodedJwt, isSignedBy, keyFor } from './client-assertion.ts'
import { keyThumbprint } from './key-thumbprint.ts'

/** No other JWT that this service reads or makes has it, so that none can be taken for another. */
const PROOF_TYPE = 'jwks-proof+jwt'

/** As with assertions: another member would have us take a key or a rule from the client that is to be checked. */
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
  /** Thumbprints (RFC 7638) of all keys of the set. */
  jkts: z.array(z.string().max(43)).max(RULES.agentKeys),
})
type Claims = z.infer<typeof Claims>

const MAX_LIFE_SECONDS = RULES.keyProofMs / 1000

/** What is wrong with a proof; a claim is named by itself. */
export type KeyProofFault =
  | 'no-jwt'
  | 'type'
  | 'algorithm'
  | 'header'
  | 'key'
  | 'signature'
  | `claim-${keyof Claims}`
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'too-long'
  | 'not-yet'
  | 'key-set'

interface Expected {
  readonly clientId: AgentId
  /** The address of the endpoint that the set is sent to. */
  readonly endpoint: string
  /** Thumbprints of the keys of the set. */
  readonly thumbprints: readonly string[]
  readonly now: Date
}

/** Proof that a client could sign with a key lately, once it is used up: it may be good once. */
export interface VerifiedKeyProof {
  readonly jti: string
  /** That signed it. */
  readonly key: AgentKey
  /** From then on it is refused for its age. */
  readonly expiresAt: Date
}

function readHeader(header: unknown): Result<z.infer<typeof Header>, KeyProofFault> {
  const read = Header.safeParse(header)
  if (read.success) return ok(read.data)
  if (!z.record(z.string(), z.unknown()).safeParse(header).success) return err('no-jwt')
  const wrong = new Set(read.error.issues.map(({ path }) => path[0]))
  if (wrong.has('typ')) return err('type')
  return err(wrong.has('alg') ? 'algorithm' : 'header')
}

function readClaims(claims: unknown): Result<Claims, KeyProofFault> {
  const read = Claims.safeParse(claims)
  if (read.success) return ok(read.data)
  const name = Claims.keyof().safeParse(read.error.issues[0]?.path[0])
  return err(name.success ? `claim-${name.data}` : 'no-jwt')
}

/**
 * Judges what a verified proof says: from this client, for this endpoint, for at most five minutes, and about exactly the
 * keys of the set.
 *
 * @returns when the proof is over, past all tolerance
 */
export function judgeKeyProof(
  { iss, aud, iat, exp, jkts }: Omit<Claims, 'jti'>,
  { clientId, endpoint, thumbprints, now: at }: Expected,
): Result<Date, KeyProofFault> {
  const now = at.getTime() / 1000
  if (iss !== clientId) return err('issuer')
  if (aud !== endpoint) return err('audience')
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (exp - iat > MAX_LIFE_SECONDS) return err('too-long')
  if (iat > now + CLOCK_TOLERANCE_SECONDS) return err('not-yet')
  if (jkts.toSorted().join() !== thumbprints.toSorted().join()) return err('key-set')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

async function verifyKeyProof(
  text: string,
  keys: readonly AgentKey[],
  expected: Expected,
): Promise<Result<VerifiedKeyProof, KeyProofFault>> {
  const decoded = decodedJwt(text)
  const header = readHeader(decoded?.header)
  if (!header.ok) return header
  const key = keyFor(keys, header.value)
  if (!key) return err('key')
  if (!(await isSignedBy({ text, header: header.value }, key))) return err('signature')
  const claims = readClaims(decoded?.claims)
  if (!claims.ok) return claims
  const judged = judgeKeyProof(claims.value, expected)
  return judged.ok ? ok({ jti: claims.value.jti, key, expiresAt: judged.value }) : judged
}

/** Verifies each proof, the signature first; who calls uses them up. @returns the first fault, with the place of its proof */
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
