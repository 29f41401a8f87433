import { generateKeyPairSync } from 'node:crypto'
import { type AgentId, AgentKey, ASSERTION_ALGORITHMS, err, ok, type Result, RULES } from '@plainpath/domain'
import { compactVerify, errors } from 'jose'
import { z } from 'zod'

/** The longest assertion that is looked at; an honest one has about 500 characters. */
const MAX_LENGTH = 4096

/**
 * All that a header may hold. Another member (`jwk`, `jku`, `x5u`, `crit`, `b64`, …) would have us take a key or a rule
 * from who is to be checked (RFC 7515 §4.1, RFC 8725 §3).
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

/** RFC 7523 §3 leaves the life to the server. */
const MAX_LIFE_SECONDS = RULES.clientAssertionMs / 1000
/** Clocks of honest clients differ by so much. */
export const CLOCK_TOLERANCE_SECONDS = 10

export interface ClientAssertion {
  /** The JWT as it was sent. */
  readonly text: string
  readonly header: z.infer<typeof Header>
  readonly claims: z.infer<typeof Claims>
}

/** Reads an assertion without believing it. @returns undefined for what can be none */
export function parseAssertion(text: string): ClientAssertion | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const parts = decodedJwt(text)
  const [header, claims] = [Header.safeParse(parts?.header), Claims.safeParse(parts?.claims)]
  if (!header.success || !claims.success) return undefined
  if (header.data.typ !== undefined && !TYPES.has(header.data.typ.toLowerCase())) return undefined
  return { text, header: header.data, claims: claims.data }
}

/** Decodes a signed JWT without believing it. @returns undefined for what has no three parts */
export function decodedJwt(text: string): { readonly header: unknown; readonly claims: unknown } | undefined {
  const parts = text.split('.')
  return parts.length === 3 ? { header: decodedPart(parts[0]), claims: decodedPart(parts[1]) } : undefined
}

function decodedPart(part: string | undefined): unknown {
  if (!part || !/^[A-Za-z0-9_-]+$/.test(part)) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
  } catch {
    return undefined
  }
}

/** The key that the header names; without `kid` the only one. Its curve and the header's `alg` belong together. */
export function keyFor(keys: readonly AgentKey[], { alg, kid }: ClientAssertion['header']) {
  const named =
    kid === undefined ? (keys.length === 1 ? keys[0] : undefined) : keys.find((key) => key.kid === kid)
  return named?.kty === (alg === 'ES256' ? 'EC' : 'OKP') ? named : undefined
}

type AssertionFault = 'issuer' | 'audience' | 'expired' | 'too-long' | 'not-yet'

/**
 * Judges what a verified assertion says (RFC 7523 §3): from and about the client, for exactly this issuer, for at most
 * five minutes. An array as `aud` was refused before, since with two audiences another server could use it here.
 *
 * @returns when the assertion is over, past all tolerance
 */
export function judgeClaims(
  { claims: { iss, sub, aud, exp, iat, nbf } }: Pick<ClientAssertion, 'claims'>,
  expected: { issuer: string; now: Date },
): Result<Date, AssertionFault> {
  const now = expected.now.getTime() / 1000
  const latest = now + CLOCK_TOLERANCE_SECONDS
  if (iss !== sub) return err('issuer')
  if (aud !== expected.issuer) return err('audience')
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) return err('expired')
  if (exp > latest + MAX_LIFE_SECONDS || (iat !== undefined && exp - iat > MAX_LIFE_SECONDS))
    return err('too-long')
  if (Math.max(iat ?? 0, nbf ?? 0) > latest) return err('not-yet')
  return ok(new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1000))
}

/** An assertion that proves a client, once it is used up: it may be good once. */
export interface VerifiedAssertion {
  readonly clientId: AgentId
  readonly jti: string
  /** That signed it. */
  readonly key: AgentKey
  /** From then on it is refused for its age. */
  readonly expiresAt: Date
}

/**
 * Verifies the signature first, then what the assertion says; whoever calls uses it up last, so nobody else can use up a
 * client's assertion. A client that is undefined may not come in, which is the same work.
 */
export function assertionVerifier(issuer: string) {
  const nobody = nobodysKeys()
  return async (
    assertion: ClientAssertion,
    client: { readonly id: AgentId; readonly keys: readonly AgentKey[] } | undefined,
    now: Date,
  ): Promise<VerifiedAssertion | undefined> => {
    const key = client && keyFor(client.keys, assertion.header)
    const isSigned = await isSignedBy(assertion, key ?? nobody[assertion.header.alg])
    const { sub, jti } = assertion.claims
    if (!client || !key || !isSigned || sub !== client.id) return undefined
    const judged = judgeClaims(assertion, { issuer, now })
    return judged.ok ? { clientId: client.id, jti, key, expiresAt: judged.value } : undefined
  }
}

/** Whether the key verifies the signature, by the algorithm of the header. */
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

/** Keys whose private half nobody has: an unknown client costs as much as a wrong signature. */
function nobodysKeys() {
  const members = { kid: 'nobody', use: 'sig' }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const ofEd25519 = AgentKey.parse({ ...okp, ...members, alg: 'EdDSA' })
  return { ES256: AgentKey.parse({ ...ec, ...members, alg: 'ES256' }), EdDSA: ofEd25519, Ed25519: ofEd25519 }
}
