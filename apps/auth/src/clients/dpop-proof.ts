import { ASSERTION_ALGORITHMS, RULES, SentJwk } from '@plainpath/domain'
import { z } from 'zod'
import { CLOCK_TOLERANCE_SECONDS, decodeJwt, type JwtFault, readClaims, readHeader } from './read-jwt.ts'

/** Longer proofs are rejected unread; a typical one has about 500 characters. */
export const MAX_PROOF_LENGTH = 4096
const MAX_AGE_SECONDS = RULES.dpopProofMs / 1000
const TYPE = 'dpop+jwt'

const Header = z.object({
  typ: z.string().refine((typ) => typ.toLowerCase() === TYPE),
  alg: z.enum(ASSERTION_ALGORITHMS),
  /** Also refuses private keys, and keys for which anybody can make signatures. */
  jwk: SentJwk,
  crit: z.never().optional(),
})

const Claims = z.object({
  jti: z.string().min(1).max(RULES.jtiCharacters),
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  nonce: z.string().optional(),
})

/**
 * Judges the DPoP headers of a token request in everything that needs no secret and no signature (RFC 9449 §4.3).
 * oidc-provider then verifies the signature and the nonce; it also repeats a part of this, but neither bounds `jti`, nor
 * checks `iat` beside a nonce, nor says what to do.
 *
 * @param headers their values, one for each header that was sent
 * @param expected.url of the endpoint, from the configured origin
 * @returns what is wrong, as a sentence for the client; undefined when nothing is
 */
export function findProofFault(
  headers: readonly string[],
  expected: { readonly url: string; readonly now: Date },
): string | undefined {
  const [text, another] = headers
  if (text === undefined || another !== undefined) return 'Send one DPoP header.'
  if (text.length > MAX_PROOF_LENGTH) return `A proof has at most ${MAX_PROOF_LENGTH} characters.`
  const parts = decodeJwt(text)
  const header = readHeader(Header, parts?.header)
  if (!header.ok) return FORM_FAULTS[header.error]
  const claims = readClaims(Claims, parts?.claims)
  if (!claims.ok) return FORM_FAULTS[claims.error]
  const { htm, htu, iat } = claims.value
  if (htm !== 'POST') return 'The claim htm of the proof must be POST.'
  if (withoutQuery(htu) !== expected.url) return `The claim htu of the proof must be ${expected.url}`
  const age = expected.now.getTime() / 1000 - iat
  if (age > MAX_AGE_SECONDS)
    return `The proof is more than ${MAX_AGE_SECONDS} seconds old (iat). Make a new one for each request, and check your clock.`
  if (age < -CLOCK_TOLERANCE_SECONDS) return 'The claim iat of the proof is in the future. Check your clock.'
  return undefined
}

const NO_JWT = 'The DPoP header is not one signed JWT: three parts in base64url, the first two JSON objects.'

const FORM_FAULTS: Readonly<Record<JwtFault<keyof z.infer<typeof Claims>>, string>> = {
  'no-jwt': NO_JWT,
  type: `The proof must have the header parameter typ ${TYPE}.`,
  algorithm: `The proof must have one of ${ASSERTION_ALGORITHMS.join(', ')} as the header parameter alg.`,
  header:
    'The proof must have a public key of P-256 or Ed25519 as the header parameter jwk, without private members, and no crit.',
  'claim-jti': `The proof must have a claim jti of 1 to ${RULES.jtiCharacters} characters: a random one.`,
  'claim-htm': 'The claim htm of the proof must be POST.',
  'claim-htu': 'The proof must have the URL of this endpoint as the claim htu.',
  'claim-iat': 'The proof must have a claim iat: when it was made, in seconds since 1970.',
  'claim-nonce': 'The claim nonce of the proof must be a string: the value of the last DPoP-Nonce header.',
}

/** An absolute URL without what URL parsers drop silently: blanks, control characters, backslashes, credentials. */
const HTTP_URL = /^https?:\/\/[^\s\\@/]+\/[^\s\\]*$/i

/** Normalises a URL (RFC 3986 §6.2.2, §6.2.3), without query and fragment, which RFC 9449 §4.3 has servers ignore. */
function withoutQuery(sent: string): string | undefined {
  const url = HTTP_URL.test(sent) ? URL.parse(sent) : null
  return url ? url.origin + url.pathname : undefined
}
