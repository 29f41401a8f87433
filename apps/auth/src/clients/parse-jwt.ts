import { type AgentKey, err, ok, type Result } from '@plainpath/domain'
import { compactVerify, errors } from 'jose'
import { z } from 'zod'

/** The tolerated clock skew of clients. */
export const CLOCK_TOLERANCE_SECONDS = 10

/** A fault in the header. `header`: a member other than `typ` and `alg` is missing, malformed or not permitted. */
type HeaderFault = 'not-a-jwt' | 'type' | 'algorithm' | 'header'

/** A fault in the form of a JWT; `claim-…` names a claim that is missing or malformed. */
export type JwtFault<Claim extends string> = HeaderFault | `claim-${Claim}`

/**
 * Decodes a signed JWT without verifying it.
 *
 * @returns undefined unless the text has three parts. `header` or `claims` is undefined if that part is not base64url
 *   JSON.
 */
export function decodeUnverifiedJwt(
  text: string,
): { readonly header: unknown; readonly claims: unknown } | undefined {
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

const JsonObject = z.record(z.string(), z.unknown())

/** Parses a decoded header with a schema that has at least `typ` and `alg`. */
export function parseHeader<Header>(schema: z.ZodType<Header>, header: unknown): Result<Header, HeaderFault> {
  const parsed = schema.safeParse(header)
  if (parsed.success) return ok(parsed.data)
  if (!JsonObject.safeParse(header).success) return err('not-a-jwt')
  const faultyMembers = new Set(parsed.error.issues.map(({ path }) => path[0]))
  if (faultyMembers.has('typ')) return err('type')
  return err(faultyMembers.has('alg') ? 'algorithm' : 'header')
}

/**
 * Parses decoded claims with their schema. The fault names the first claim that is missing or malformed. It is
 * `not-a-jwt` if the claims are not an object.
 */
export function parseClaims<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  claims: unknown,
): Result<z.output<z.ZodObject<Shape>>, 'not-a-jwt' | `claim-${keyof Shape & string}`> {
  const parsed = schema.safeParse(claims)
  if (parsed.success) return ok(parsed.data)
  const name = parsed.error.issues[0]?.path[0]
  return err(typeof name === 'string' ? `claim-${name as keyof Shape & string}` : 'not-a-jwt')
}

/**
 * Returns true if a key has the type that the algorithm requires: ES256 needs EC, and the other permitted algorithms
 * need OKP.
 */
export const fitsAlgorithm = (key: Pick<AgentKey, 'kty'>, alg: string): boolean =>
  key.kty === (alg === 'ES256' ? 'EC' : 'OKP')

/** Returns true if the key made the signature with the algorithm in the header. */
export async function isSignedBy(
  { text, header }: { readonly text: string; readonly header: { readonly alg: string } },
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
