import { ASSERTION_ALGORITHMS, RULES, SentJwk } from '@plainpath/domain'
import { z } from 'zod'
import {
  CLOCK_TOLERANCE_SECONDS,
  decodeUnverifiedJwt,
  type JwtFault,
  parseClaims,
  parseHeader,
} from './parse-jwt.ts'

/** A longer proof is rejected without being decoded. A typical one has about 500 characters. */
export const MAX_PROOF_LENGTH = 4096
const MAX_AGE_SECONDS = RULES.dpopProofMs / 1000
const PROOF_TYPE = 'dpop+jwt'

const Header = z.object({
  typ: z.string().refine((typ) => typ.toLowerCase() === PROOF_TYPE),
  alg: z.enum(ASSERTION_ALGORITHMS),
  /** The schema refuses private keys, and keys for which anybody can forge signatures. */
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
 * Checks the DPoP headers of a token request (RFC 9449 §4.3), except for the signature, the nonce, and the optional
 * claims `exp` and `nbf`. oidc-provider verifies those, and repeats some of these checks. But it does not limit the
 * length of `jti`, does not check `iat` if there is a nonce, and does not explain faults to the client.
 *
 * @param headers the values of the headers, one for each DPoP header of the request
 * @param expected.url the URL of the endpoint, from the configured origin
 * @returns the fault, in sentences for the client; undefined if there is none
 */
export function findProofFault(
  headers: readonly string[],
  expected: { readonly url: string; readonly now: Date },
): string | undefined {
  const [proof, secondProof] = headers
  if (proof === undefined || secondProof !== undefined) return 'Send one DPoP header.'
  if (proof.length > MAX_PROOF_LENGTH) return `A proof has at most ${MAX_PROOF_LENGTH} characters.`
  const decoded = decodeUnverifiedJwt(proof)
  const header = parseHeader(Header, decoded?.header)
  if (!header.ok) return FORMAT_FAULTS[header.error]
  const claims = parseClaims(Claims, decoded?.claims)
  if (!claims.ok) return FORMAT_FAULTS[claims.error]
  const { htm, htu, iat } = claims.value
  if (htm !== 'POST') return HTM_FAULT
  if (normalizeTarget(htu) !== expected.url) return `The htu claim of the proof must be ${expected.url}`
  const ageSeconds = expected.now.getTime() / 1000 - iat
  if (ageSeconds > MAX_AGE_SECONDS)
    return `The proof is more than ${MAX_AGE_SECONDS} seconds old (iat). Make a new one for each request, and check your clock.`
  if (ageSeconds < -CLOCK_TOLERANCE_SECONDS)
    return 'The iat claim of the proof is in the future. Check your clock.'
  return undefined
}

const HTM_FAULT = 'The htm claim of the proof must be POST.'

const FORMAT_FAULTS: Readonly<Record<JwtFault<keyof z.infer<typeof Claims>>, string>> = {
  'not-a-jwt':
    'The DPoP header is not one signed JWT: three parts in base64url, the first two of them JSON objects.',
  type: `The proof must have the header parameter typ ${PROOF_TYPE}.`,
  algorithm: `The proof must have one of ${ASSERTION_ALGORITHMS.join(', ')} as the header parameter alg.`,
  header:
    'The proof must have a public key of P-256 or Ed25519 as the header parameter jwk, without private members, and no crit.',
  'claim-jti': `The proof must have a jti claim: a random string of 1 to ${RULES.jtiCharacters} characters.`,
  'claim-htm': HTM_FAULT,
  'claim-htu': 'The proof must have an htu claim: the URL of this endpoint.',
  'claim-iat': 'The proof must have an iat claim: the time when it was made, in seconds since 1970.',
  'claim-nonce': 'The nonce claim of the proof must be a string: the value of the last DPoP-Nonce header.',
}

/**
 * Matches an absolute URL without whitespace, backslashes and credentials. Otherwise, different URLs could count as
 * equal: `URL.parse` removes whitespace and turns backslashes into slashes, and `normalizeTarget` drops credentials.
 */
const HTTP_URL = /^https?:\/\/[^\s\\@/]+\/[^\s\\]*$/i

/**
 * Normalizes a URL (RFC 3986 §6.2.2, §6.2.3), and removes its query and fragment, which servers ignore (RFC 9449 §4.3).
 *
 * @returns undefined unless it is an absolute http or https URL
 */
function normalizeTarget(target: string): string | undefined {
  const url = HTTP_URL.test(target) ? URL.parse(target) : null
  return url ? url.origin + url.pathname : undefined
}
