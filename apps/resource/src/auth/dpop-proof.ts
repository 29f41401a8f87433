import { createHash } from 'node:crypto'
import {
  ASSERTION_ALGORITHMS,
  err,
  ok,
  PRIVATE_JWK_MEMBERS,
  type Result,
  RULES,
  SentJwk,
} from '@plainpath/domain'
import { type CryptoKey, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

/** The signature algorithms of proofs. A challenge lists them in `algs`. */
export const DPOP_ALGORITHMS = ASSERTION_ALGORITHMS

const MAX_PROOF_BYTES = 4_096
/** A proof is accepted from 10 s before its `iat` until `MAX_PAST_SECONDS` after it. */
const MAX_FUTURE_SECONDS = 10
const MAX_PAST_SECONDS = RULES.dpopProofMs / 1000

/** The request that a proof must match. */
interface ProvenRequest {
  /** The access token that was sent with the proof. */
  readonly token: string
  /** The method as it was sent: `HEAD` is not `GET`. */
  readonly method: string
  /** The configured origin, never the `Host` header, followed by the request path. */
  readonly url: string
}

/** A proof whose claims match the request. Its signature and key are not checked yet. */
export interface UnverifiedProof {
  readonly jwt: string
  readonly jwk: ProofKey
  readonly jti: string
  /** The time of issue, in seconds since 1970. */
  readonly iat: number
}

/** The part of a verified proof that the store of used proofs needs. */
export interface VerifiedProof {
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string
  readonly jti: string
  /** The time of issue, in seconds since 1970. */
  readonly iat: number
}

const BoundedText = z.string().max(MAX_PROOF_BYTES)
const ProofKey = z
  .looseObject({ kty: BoundedText, crv: BoundedText, x: BoundedText, y: BoundedText.optional() })
  .refine((jwk) => !PRIVATE_JWK_MEMBERS.some((member) => Object.hasOwn(jwk, member)))
type ProofKey = z.infer<typeof ProofKey>

const ProofHeader = z.object({ typ: z.literal('dpop+jwt'), alg: z.enum(DPOP_ALGORITHMS), jwk: ProofKey })
/** The claims of a proof (RFC 9449 §4.2): `htm` and `htu` name the request, and `ath` is the hash of the access token. */
const ProofClaims = z.object({
  jti: z.string().min(1).max(RULES.jtiCharacters),
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  ath: z.string(),
})

const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads a request's `DPoP` headers, and checks everything except the signature and the key (RFC 9449 §4.3).
 *
 * @param headers the header values, one for each `DPoP` header
 * @returns the proof; or, as an error, a sentence that explains the refusal to the client
 */
export function readProof(
  headers: readonly string[],
  request: ProvenRequest,
  now: Date,
): Result<UnverifiedProof, string> {
  const [jwt, ...otherHeaders] = headers
  if (jwt === undefined) return err('The DPoP header is missing: send a proof for this request.')
  if (otherHeaders.length > 0) return err('Send one DPoP header.')
  if (jwt.length > MAX_PROOF_BYTES) return err(`A proof has at most ${MAX_PROOF_BYTES} characters.`)
  if (!COMPACT_JWS.test(jwt)) return err('The DPoP header is not one signed JWT.')
  const parts = decodeProof(jwt)
  if (!parts) return err('The DPoP header is not one signed JWT.')
  const header = ProofHeader.safeParse(parts.header)
  if (!header.success) return err(describeHeaderFault(header.error))
  const claims = ProofClaims.safeParse(parts.claims)
  if (!claims.success) return err(describeClaimFault(claims.error))
  const fault = findClaimFault(claims.data, request, now)
  const { jti, iat } = claims.data
  return fault === undefined ? ok({ jwt, jwk: header.data.jwk, jti, iat }) : err(fault)
}

function decodeProof(jwt: string) {
  try {
    return { header: decodeProtectedHeader(jwt), claims: decodeJwt(jwt) }
  } catch {
    return undefined
  }
}

/** Describes the first fault in a header without quoting what the client sent. */
function describeHeaderFault({ issues }: z.ZodError): string {
  const [member] = issues[0]?.path ?? []
  if (member === 'typ') return 'The header typ of the proof must be dpop+jwt.'
  if (member === 'alg') return `The header alg of the proof must be ${DPOP_ALGORITHMS.join(', ')}.`
  return 'The header jwk of the proof must be a public key of P-256 or Ed25519, without private members.'
}

function describeClaimFault({ issues }: z.ZodError): string {
  const [member] = issues[0]?.path ?? []
  if (member === 'jti') return `The jti claim of the proof must have 1 to ${RULES.jtiCharacters} characters.`
  return `The ${String(member)} claim of the proof is missing or has another type.`
}

function findClaimFault(
  claims: z.infer<typeof ProofClaims>,
  request: ProvenRequest,
  now: Date,
): string | undefined {
  const { method, url, token } = request
  if (claims.htm !== method) return 'The htm claim of the proof is not the method of this request.'
  const target = normalizeTarget(claims.htu)
  if (target === undefined || target !== normalizeTarget(url))
    return 'The htu claim of the proof is not the URL of this request.'
  const age = now.getTime() / 1_000 - claims.iat
  const isRecent = age <= MAX_PAST_SECONDS && age >= -MAX_FUTURE_SECONDS
  if (!isRecent)
    return `The iat claim of the proof must be at most ${MAX_PAST_SECONDS} seconds in the past and ${MAX_FUTURE_SECONDS} in the future: make a new proof for each request, and set the clock.`
  if (claims.ath !== createHash('sha256').update(token).digest('base64url'))
    return 'The ath claim of the proof is not the SHA-256 hash of this access token, in base64url.'
  return undefined
}

/**
 * Matches an absolute http or https URL without whitespace, backslashes or credentials. If these were accepted, different URLs
 * could count as equal: `URL.parse` removes whitespace and turns backslashes into slashes, and `normalizeTarget` drops
 * credentials.
 */
const HTTP_URL = /^https?:\/\/[^\s\\@/]+(?:[/?#]|$)[^\s\\]*$/i
/** Matches an unreserved character (RFC 3986 §2.3). */
const UNRESERVED = /^[\w.~-]$/

/**
 * Normalizes a URL as RFC 3986 §6.2.2 and §6.2.3 describe, and removes its query and fragment.
 *
 * @returns undefined for a string that `HTTP_URL` does not match, and for an invalid URL
 */
function normalizeTarget(target: string): string | undefined {
  const url = HTTP_URL.test(target) ? URL.parse(target) : null
  if (!url) return undefined
  const path = url.pathname.replaceAll(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return UNRESERVED.test(character) ? character : encoded.toUpperCase()
  })
  return url.origin + path
}

/** The maximum number of imported keys in the cache. Importing a key takes longer than verifying a signature. */
const MAX_CACHED_KEYS = 1_000

/**
 * Creates the function that verifies that a proof was signed with the key of a bound token.
 *
 * @returns a function that resolves to the reason for a refusal, or to undefined for a valid proof
 */
export function createProofVerifier() {
  const importedKeys = new LRUCache<string, CryptoKey>({ max: MAX_CACHED_KEYS })
  return async (proof: UnverifiedProof, jkt: string, now: Date): Promise<string | undefined> => {
    if (computeThumbprint(proof.jwk) !== jkt)
      return 'The proof was signed by another key than the token is bound to.'
    const key = importedKeys.get(jkt) ?? (await importKey(proof.jwk))
    if (!key) return 'The header jwk of the proof is not a usable key.'
    importedKeys.set(jkt, key)
    try {
      const verifyOptions = { typ: 'dpop+jwt', algorithms: [...DPOP_ALGORITHMS], currentDate: now }
      await jwtVerify(proof.jwt, key, verifyOptions)
      return undefined
    } catch {
      return 'The proof does not verify: check its signature, and exp and nbf if it has them.'
    }
  }
}

/** Imports a key. Returns undefined for a key that `SentJwk` refuses, such as a key for which anybody can forge signatures. */
async function importKey({ kty, crv, x, y }: ProofKey): Promise<CryptoKey | undefined> {
  const jwk = SentJwk.safeParse({ kty, crv, x, ...(y !== undefined && { y }) })
  if (!jwk.success) return undefined
  const key = await importJWK(
    { kty, crv, x, ...(y !== undefined && { y }) },
    kty === 'EC' ? 'ES256' : 'Ed25519',
  )
  return key as CryptoKey
}

/** Computes the SHA-256 thumbprint of a key (RFC 7638). The members must be sorted by name. */
function computeThumbprint({ crv, kty, x, y }: ProofKey): string {
  const members = JSON.stringify({ crv, kty, x, ...(kty === 'EC' && { y }) })
  return createHash('sha256').update(members).digest('base64url')
}
