import { ASSERTION_ALGORITHMS, durationIn, RULES } from '@plainpath/domain'
import {
  type ContentFault,
  MAX_ASSERTION_LENGTH,
  MAX_KID_LENGTH,
  type SignatureFault,
} from './client-assertion.ts'

/*
 * Describes to a client why its assertion was rejected. A caller without a client's key must not learn whether the
 * client exists (decision 34):
 *
 * - A content fault is described to every caller, because it does not depend on the client.
 * - `signature-unverified` has one description for an unknown, deleted or disabled client, an unknown `kid` and a wrong
 *   signature. The description depends only on whether the assertion has a `kid`.
 * - `kid-mismatch` and `assertion-used` are described only after the signature was verified with a key of an active client.
 */

export type AssertionFault = ContentFault | SignatureFault | 'assertion-used'

const MAX_LIFETIME = durationIn('minute', RULES.clientAssertionMs)
const NEW_EACH_TIME = 'Make a new assertion for each request.'

const DESCRIPTIONS: Readonly<
  Record<Exclude<AssertionFault, 'signature-unverified' | 'audience' | 'claim-aud'>, string>
> = {
  'assertion-too-long': `The assertion is longer than ${MAX_ASSERTION_LENGTH} characters.`,
  'not-a-jwt':
    'The assertion is not a signed JWT: three parts in base64url, the first two of them JSON objects.',
  type: 'The header parameter typ must be JWT or client-authentication+jwt. It may be left out.',
  algorithm: `The header parameter alg must be one of ${ASSERTION_ALGORITHMS.join(', ')}.`,
  header: `The header may contain alg, kid and typ only. A kid is a string of at most ${MAX_KID_LENGTH} characters.`,
  'claim-iss': 'The iss claim must be your client_id, as a string.',
  'claim-sub': 'The sub claim must be your client_id, as a string.',
  'claim-exp': 'The exp claim must be a whole number of seconds since 1970.',
  'claim-jti': `The jti claim must be a string of 1 to ${RULES.jtiCharacters} characters. ${NEW_EACH_TIME}`,
  'claim-iat': 'The iat claim must be a number of seconds since 1970. It may be left out.',
  'claim-nbf': 'The nbf claim must be a number of seconds since 1970. It may be left out.',
  issuer: 'The iss and sub claims must both be your client_id.',
  expired: `The assertion has expired (exp). ${NEW_EACH_TIME} If this one is new, check your clock.`,
  'lifetime-too-long': `The assertion is valid for too long. The exp claim may be at most ${MAX_LIFETIME} from now, and at most ${MAX_LIFETIME} after iat.`,
  'not-yet': 'The assertion is not valid yet: iat or nbf is in the future. Check your clock.',
  'kid-mismatch':
    'The signature is valid, but another of your keys made it than the one that kid names. Send the kid of the key that signs.',
  'assertion-used': `This assertion was used before (jti). An assertion works once, even if its request failed. ${NEW_EACH_TIME}`,
}

/**
 * Describes a fault in complete sentences.
 *
 * @param hasKid true if the header of the assertion has a `kid`
 */
export function describeAssertionFault(
  fault: AssertionFault,
  { issuer, hasKid }: { issuer: string; hasKid: boolean },
): string {
  if (fault === 'audience' || fault === 'claim-aud')
    return `The aud claim must be exactly ${issuer}, as a string. The URL of an endpoint or a list is not accepted.`
  if (fault !== 'signature-unverified') return DESCRIPTIONS[fault]
  const otherCauses = hasKid
    ? 'it has no key with this kid, or another key made the signature. Check sub, kid and the signing key.'
    : 'or none of its keys made the signature. Check sub and the signing key.'
  return `The signature cannot be verified: the client that sub names is unknown, ${otherCauses}`
}
