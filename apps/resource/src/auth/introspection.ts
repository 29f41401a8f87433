import { AgentId, EmailAddress, IdentityType } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'

/** What the authorization server says of an access token (RFC 7662 §2.2). */
export type Introspection =
  | { readonly active: false }
  | {
      readonly active: true
      readonly clientId: string
      readonly scopes: ReadonlySet<string>
      readonly audience: readonly string[]
      readonly expiresAt: Date
      readonly identityType: IdentityType
      readonly registrationId?: string
      /** Only where it was asked for, and verified. */
      readonly email?: string
      /** The birth mark of the store through which revokers tell that it ended; undefined where nobody tells. */
      readonly endsToldBy?: string
    }

export type ActiveAnswer = Extract<Introspection, { active: true }>

/**
 * Asks what a token is worth.
 *
 * @throws {AuthorizationServerFailure} when there is no answer in time, or none that can be believed
 */
export type Introspect = (token: string) => Promise<Introspection>

/**
 * The same for a request from an address, as `clientAddress` gives it.
 *
 * @throws {IntrospectionLimited} where a limit of the address keeps the token from being introspected
 */
export type IntrospectFor = (token: string, address: string) => Promise<Introspection>

/** The authorization server did not answer, or not as agreed: 503, never an allow and never a 401. */
export class AuthorizationServerFailure extends Error {
  override readonly name = 'AuthorizationServerFailure'
}

const Seconds = z.int().min(0)

/** The member `token_introspection` of a signed answer (RFC 9701 §5). Unknown members are ignored. */
const TokenIntrospection = z.discriminatedUnion('active', [
  z.object({ active: z.literal(false) }).transform((): Introspection => ({ active: false })),
  z
    .object({
      active: z.literal(true),
      client_id: AgentId,
      scope: z.string(),
      aud: z.union([z.string(), z.array(z.string()).min(1)]),
      exp: Seconds,
      iat: Seconds,
      iss: z.string().optional(),
      token_type: z.string().regex(/^bearer$/i),
      identity_type: IdentityType,
      registration_id: z.string().min(1).max(100).optional(),
      email: EmailAddress.optional(),
    })
    .transform(
      (answer): Introspection => ({
        active: true,
        clientId: answer.client_id,
        scopes: new Set(answer.scope.split(' ').filter(Boolean)),
        audience: [answer.aud].flat(),
        expiresAt: new Date(answer.exp * 1000),
        identityType: answer.identity_type,
        ...(answer.registration_id !== undefined && { registrationId: answer.registration_id }),
        ...(answer.email !== undefined && { email: answer.email }),
      }),
    ),
])

export const ANSWER_TYPE = 'application/token-introspection+jwt'

/** What is expected of every signed answer. */
interface AnswerExpectations {
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
