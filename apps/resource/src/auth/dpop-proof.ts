import { createHash } from 'node:crypto'
import { ASSERTION_ALGORITHMS, err, ok, PRIVATE_JWK_MEMBERS, type Result, SentJwk } from '@plainpath/domain'
import { type CryptoKey, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

/** The signature algorithms of proofs, for `algs` in challenges and for the metadata. */
export const DPOP_ALGORITHMS = ASSERTION_ALGORITHMS

const MAX_PROOF_BYTES = 4_096
const MAX_JTI_CHARACTERS = 128
/** A proof is accepted from 10 s before to 60 s after its `iat`. */
const PAST_SECONDS = 60
const FUTURE_SECONDS = 10

/** What the claims of a proof must say. */
interface ProvenRequest {
  /** The access token that came with the proof. */
  readonly token: string
  /** As sent: `HEAD` is not `GET`. */
  readonly method: string
  /** The configured origin with the path of the request; never from `Host`. */
  readonly url: string
}

/** A proof whose claims fit the request. Its signature and its key are not checked yet. */
export interface ReadProof {
  readonly jwt: string
  readonly jwk: ProofKey
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
}

/** A verified proof, as far as the store of used proofs needs it. */
export interface VerifiedProof {
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
}

const text = z.string().max(MAX_PROOF_BYTES)
const ProofKey = z
  .looseObject({ kty: text, crv: text, x: text, y: text.optional() })
  .refine((jwk) => !PRIVATE_JWK_MEMBERS.some((member) => Object.hasOwn(jwk, member)))
type ProofKey = z.infer<typeof ProofKey>

const Header = z.object({ typ: z.literal('dpop+jwt'), alg: z.enum(DPOP_ALGORITHMS), jwk: ProofKey })
const Claims = z.object({
  jti: z.string().min(1).max(MAX_JTI_CHARACTERS),
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  ath: z.string(),
})

const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads the `DPoP` headers of a request, and checks everything but the signature and the key (RFC 9449 §4.3).
 *
 * @param headers their values, one for each header that was sent
 * @returns why the proof is refused, as a sentence for the client
 */
export function readProof(
  headers: readonly string[],
  request: ProvenRequest,
  now: Date,
): Result<ReadProof, string> {
  const [jwt, ...more] = headers
  if (jwt === undefined) return err('The header DPoP is missing: send a proof for this request.')
  if (more.length > 0) return err('Send one DPoP header.')
  if (jwt.length > MAX_PROOF_BYTES) return err(`A proof has at most ${MAX_PROOF_BYTES} characters.`)
  if (!COMPACT_JWS.test(jwt)) return err('The header DPoP is not one signed JWT.')
  const parts = decode(jwt)
  if (!parts) return err('The header DPoP is not one signed JWT.')
  const header = Header.safeParse(parts.header)
  if (!header.success) return err(headerMistake(header.error))
  const claims = Claims.safeParse(parts.claims)
  if (!claims.success) return err(claimMistake(claims.error))
  const mistake = claimFault(claims.data, request, now)
  const { jti, iat } = claims.data
  return mistake === undefined ? ok({ jwt, jwk: header.data.jwk, jti, iat }) : err(mistake)
}

function decode(jwt: string) {
  try {
    return { header: decodeProtectedHeader(jwt), claims: decodeJwt(jwt) }
  } catch {
    return undefined
  }
}

/** Says what is wrong without the value that was sent. */
function headerMistake({ issues }: z.ZodError): string {
  const [member] = issues[0]?.path ?? []
  if (member === 'typ') return 'The header typ of the proof must be dpop+jwt.'
  if (member === 'alg') return `The header alg of the proof must be ${DPOP_ALGORITHMS.join(', ')}.`
  return 'The header jwk of the proof must be a public key of P-256 or Ed25519, without private members.'
}

function claimMistake({ issues }: z.ZodError): string {
  const [member] = issues[0]?.path ?? []
  if (member === 'jti') return `The claim jti of the proof must have 1 to ${MAX_JTI_CHARACTERS} characters.`
  return `The claim ${String(member)} of the proof is missing or has another type.`
}

function claimFault(claims: z.infer<typeof Claims>, request: ProvenRequest, now: Date): string | undefined {
  const { method, url, token } = request
  if (claims.htm !== method) return 'The claim htm of the proof is not the method of this request.'
  const target = normalizedTarget(claims.htu)
  if (target === undefined || target !== normalizedTarget(url))
    return 'The claim htu of the proof is not the URL of this request.'
  const age = now.getTime() / 1_000 - claims.iat
  if (!(age <= PAST_SECONDS && age >= -FUTURE_SECONDS))
    return `The claim iat of the proof must be at most ${PAST_SECONDS} seconds old: make a new proof for each request.`
  if (claims.ath !== createHash('sha256').update(token).digest('base64url'))
    return 'The claim ath of the proof is not the SHA-256 hash of this access token, in base64url.'
  return undefined
}

/** An absolute URL without what URL parsers drop silently: blanks, control characters, backslashes, credentials. */
const HTTP_URL = /^https?:\/\/[^\s\\@/]+(?:[/?#]|$)[^\s\\]*$/i
const UNRESERVED = /^[\w.~-]$/

/**
 * Normalises a URL as RFC 3986 §6.2.2 and §6.2.3 say, without query and fragment.
 *
 * @returns undefined for anything but an absolute http or https URL
 */
function normalizedTarget(sent: string): string | undefined {
  const url = HTTP_URL.test(sent) ? URL.parse(sent) : null
  if (!url) return undefined
  const path = url.pathname.replaceAll(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return UNRESERVED.test(character) ? character : encoded.toUpperCase()
  })
  return url.origin + path
}

/** How many keys each process keeps imported: importing one takes longer than verifying a signature. */
const MAX_KEYS = 1_000

/**
 * Creates the check that a proof was signed by the key that a token is bound to.
 *
 * @returns a function that resolves to undefined, or to why the proof is refused
 */
export function proofVerifier() {
  const keys = new LRUCache<string, CryptoKey>({ max: MAX_KEYS })
  return async (proof: ReadProof, jkt: string, now: Date): Promise<string | undefined> => {
    if (thumbprint(proof.jwk) !== jkt)
      return 'The proof was signed by another key than the token is bound to.'
    const key = keys.get(jkt) ?? (await importKey(proof.jwk))
    if (!key) return 'The header jwk of the proof is not a usable key.'
    keys.set(jkt, key)
    try {
      const expected = { typ: 'dpop+jwt', algorithms: [...DPOP_ALGORITHMS], currentDate: now }
      await jwtVerify(proof.jwt, key, expected)
      return undefined
    } catch {
      return 'The proof does not verify: check its signature, and exp and nbf if it has them.'
    }
  }
}

/** Excludes points that are not on their curve, or for which anybody can forge signatures. */
async function importKey({ kty, crv, x, y }: ProofKey): Promise<CryptoKey | undefined> {
  const jwk = SentJwk.safeParse({ kty, crv, x, ...(y !== undefined && { y }) })
  if (!jwk.success) return undefined
  const key = await importJWK(
    { kty, crv, x, ...(y !== undefined && { y }) },
    kty === 'EC' ? 'ES256' : 'Ed25519',
  )
  return key as CryptoKey
}

/** The SHA-256 thumbprint of a key (RFC 7638); members are in the order of their names. */
function thumbprint({ crv, kty, x, y }: ProofKey): string {
  const members = JSON.stringify({ crv, kty, x, ...(kty === 'EC' && { y }) })
  return createHash('sha256').update(members).digest('base64url')
}
