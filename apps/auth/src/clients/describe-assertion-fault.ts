import { ASSERTION_ALGORITHMS, durationIn, RULES } from '@plainpath/domain'
import {
  type ContentFault,
  MAX_ASSERTION_LENGTH,
  MAX_KID_LENGTH,
  type SignatureFault,
} from './client-assertion.ts'

/*
 * Describes to a client why its assertion is rejected. A stranger must not learn from it whether a client exists
 * (decision 34):
 *
 * - A fault of the content is described to everybody. It is found before the client is looked up, from the assertion alone.
 * - `unproven` has one description for an unknown, deleted or disabled client, for an unknown `kid` and for a wrong
 *   signature. It varies only by whether the assertion has a `kid`.
 * - `other-key` and `used` are described after a key of an active client was found to have made the signature.
 */

export type AssertionFault = ContentFault | SignatureFault | 'used'

const LIFETIME = durationIn('minute', RULES.clientAssertionMs)
const NEW_EACH_TIME = 'Make a new assertion for each request.'

const DESCRIPTIONS: Readonly<Record<Exclude<AssertionFault, 'unproven' | 'audience' | 'claim-aud'>, string>> =
  {
    length: `The assertion is longer than ${MAX_ASSERTION_LENGTH} characters.`,
    'no-jwt':
      'The assertion is not a signed JWT: three parts in base64url, the first two of them JSON objects.',
    type: 'The header parameter typ must be JWT or client-authentication+jwt. It may be left out.',
    algorithm: `The header parameter alg must be one of ${ASSERTION_ALGORITHMS.join(', ')}.`,
    header: `The header may contain alg, kid and typ only. A kid is a string of at most ${MAX_KID_LENGTH} characters.`,
    'claim-iss': 'The claim iss must be your client_id, as a string.',
    'claim-sub': 'The claim sub must be your client_id, as a string.',
    'claim-exp': 'The claim exp must be a whole number of seconds since 1970.',
    'claim-jti': `The claim jti must be a string of 1 to ${RULES.jtiCharacters} characters. ${NEW_EACH_TIME}`,
    'claim-iat': 'The claim iat must be a number of seconds since 1970. It may be left out.',
    'claim-nbf': 'The claim nbf must be a number of seconds since 1970. It may be left out.',
    issuer: 'The claims iss and sub must both be your client_id.',
    expired: `The assertion has expired (exp). ${NEW_EACH_TIME} If this one is new, check your clock.`,
    'too-long': `The assertion is valid for too long. The claim exp may be at most ${LIFETIME} from now, and at most ${LIFETIME} after iat.`,
    'not-yet': 'The assertion is not valid yet: iat or nbf is in the future. Check your clock.',
    'other-key':
      'The signature is valid, but another of your keys made it than the one that kid names. Send the kid of the key that signs.',
    used: `This assertion was used before (jti). An assertion works once, even if its request failed. ${NEW_EACH_TIME}`,
  }

/** @param hasKid whether the header of the assertion has a `kid` */
export function describeAssertionFault(
  fault: AssertionFault,
  { issuer, hasKid }: { issuer: string; hasKid: boolean },
): string {
  if (fault === 'audience' || fault === 'claim-aud')
    return `The claim aud must be exactly ${issuer}, as a string. The URL of an endpoint or a list is not accepted.`
  if (fault !== 'unproven') return DESCRIPTIONS[fault]
  const key = hasKid
    ? 'it has no key with this kid, or another key made the signature. Check sub, kid and the signing key.'
    : 'or none of its keys made the signature. Check sub and the signing key.'
  return `The signature cannot be verified: the client that sub names is unknown, ${key}`
}
