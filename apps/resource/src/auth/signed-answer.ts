import { sha256 } from '@plainpath/sealing'
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import { AuthorizationServerFailure, type Introspection, TokenIntrospection } from './introspection.ts'

export const ANSWER_TYPE = 'application/token-introspection+jwt'

/** What is expected of every signed answer. */
export interface AnswerExpectations {
  /** `iss`: the OAuth issuer. */
  readonly issuer: string
  /** `aud`: who we are at the authorization server. */
  readonly audience: string
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
}

const MAX_AGE_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5

/**
 * Claims of our own: `token_hash` binds the answer to the token that was asked about; `revocation_mark` names the store
 * through which its end will be told.
 */
const Answer = z.object({
  token_hash: z.string(),
  revocation_mark: z.string().optional(),
  token_introspection: TokenIntrospection,
})

/**
 * Reads a signed introspection answer (RFC 9701 §5).
 *
 * @throws {AuthorizationServerFailure} when it is not signed by a published key, stale, for somebody else, about
 *   another token, or has another shape
 */
export async function readSignedAnswer(
  jwt: string,
  token: string,
  expected: AnswerExpectations,
): Promise<Introspection> {
  const payload = await verifiedPayload(jwt, expected)
  const answer = Answer.safeParse(payload)
  if (!answer.success) {
    const where = answer.error.issues.map((issue) => issue.path.join('.')).join(', ')
    throw new AuthorizationServerFailure(`the introspection answer has another shape at ${where}`)
  }
  if (answer.data.token_hash !== sha256(token).toString('base64url'))
    throw new AuthorizationServerFailure('the introspection answer is about another token')
  const { token_introspection: introspection, revocation_mark: endsToldBy } = answer.data
  return introspection.active && endsToldBy !== undefined ? { ...introspection, endsToldBy } : introspection
}

async function verifiedPayload(jwt: string, expected: AnswerExpectations): Promise<unknown> {
  const { keys, issuer, audience, now } = expected
  try {
    const { payload } = await jwtVerify(
      jwt,
      async (header, input) => {
        if (!header.kid) throw new AuthorizationServerFailure('the introspection answer names no key')
        return keys(header, input)
      },
      {
        typ: 'token-introspection+jwt',
        algorithms: ['ES256', 'EdDSA'],
        issuer,
        audience,
        requiredClaims: ['iat'],
        maxTokenAge: MAX_AGE_SECONDS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: now(),
      },
    )
    return payload
  } catch (cause) {
    throw new AuthorizationServerFailure('the introspection answer cannot be verified', { cause })
  }
}
