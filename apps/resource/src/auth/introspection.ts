import { AgentId, EmailAddress, IdentityType } from '@plainpath/domain'
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

/**
 * Asks what a token is worth.
 *
 * @throws {AuthorizationServerFailure} when there is no answer in time, or none that can be believed
 */
export type Introspect = (token: string) => Promise<Introspection>

/** The authorization server did not answer, or not as agreed: 503, never an allow and never a 401. */
export class AuthorizationServerFailure extends Error {
  override readonly name = 'AuthorizationServerFailure'
}

const Seconds = z.int().min(0)

/** The member `token_introspection` of a signed answer (RFC 9701 §5). Unknown members are ignored. */
export const TokenIntrospection = z.discriminatedUnion('active', [
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
