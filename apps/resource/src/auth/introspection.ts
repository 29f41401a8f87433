import { AgentId, EmailAddress, IdentityType } from '@plainpath/domain'
import { sha256Base64url } from '@plainpath/sealing'
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import { LinkSecret } from '../link-secret.ts'

/** The introspection of an access token (RFC 7662 §2.2). */
export type Introspection =
  | { readonly active: false }
  | {
      readonly active: true
      readonly clientId: string
      readonly scopes: ReadonlySet<string>
      /** The resource identifiers for which the token is valid. */
      readonly audience: readonly string[]
      readonly expiresAt: Date
      readonly identityType: IdentityType
      /** The host that the client has proven to control; absent without a proof. */
      readonly verifiedDomain?: string
      /** The thumbprint of the key to which the token is bound (RFC 9449 §6.2); absent for a bearer token. */
      readonly jkt?: string
      /** The id of the person's e-mail verification; absent if the token depends on none. */
      readonly registrationId?: string
      /** The person's e-mail address. Present only if it was requested and the person verified it. */
      readonly email?: string
      /** The agent that the person confirmed. Requested with `email`. Earlier authorization servers leave it out. */
      readonly agent?: ConfirmedAgent
      /** The mark of the store that publishes a revocation of this token; absent if no store does. */
      readonly revocationMark?: string
    }

/** An agent or app to which a person gave access, as the authorization server describes it. */
export interface ConfirmedAgent {
  /** The name that the agent gave itself. Nobody verified it. */
  readonly name?: string
  /** The host that the agent has proven to control. */
  readonly verifiedDomain?: string
  /** The destination of the sign-in of the connected app, as `formatAppHost` formats it; absent for an agent. */
  readonly appHost?: string
  readonly registeredAt: Date
  readonly verifiedAt: Date
  readonly expiresAt: Date
  /** The secret of the mailed link that revokes the agent's access; absent if the authorization server does not know it. */
  readonly endSecret?: string
}

export type ActiveIntrospection = Extract<Introspection, { active: true }>

/**
 * Introspects a token.
 *
 * @throws {AuthorizationServerFailure} when no valid response arrives in time
 */
export type Introspect = (token: string) => Promise<Introspection>

/**
 * Introspects the token of a request from `address`, which `findClientAddress` determines.
 *
 * @throws {AuthorizationServerFailure} like `Introspect`
 * @throws {IntrospectionLimited} when a limit of the address does not allow the introspection
 */
export type IntrospectFor = (token: string, address: string) => Promise<Introspection>

/**
 * Thrown when the authorization server sends no valid response, or when too many introspections are in flight. The API then
 * responds with 503, because it cannot tell whether the token is active.
 */
export class AuthorizationServerFailure extends Error {
  override readonly name = 'AuthorizationServerFailure'
}

const Seconds = z.int().min(0)
const Time = z.iso.datetime().transform((text) => new Date(text))

const ConfirmedAgentClaim = z
  .object({
    agent_name: z.string().max(1_000).optional(),
    // The pattern allows the three forms of `formatAppHost`: a host, `loopback`, and a scheme with its colon.
    app_host: z
      .string()
      .max(260)
      .regex(/^[a-z0-9.:[\]+-]+$/)
      .optional(),
    agent_registered_at: Time,
    verified_at: Time,
    expires_at: Time,
    end_secret: LinkSecret.optional(),
  })
  .transform(
    (claim): ConfirmedAgent => ({
      registeredAt: claim.agent_registered_at,
      verifiedAt: claim.verified_at,
      expiresAt: claim.expires_at,
      ...(claim.agent_name !== undefined && { name: claim.agent_name }),
      ...(claim.app_host !== undefined && { appHost: claim.app_host }),
      ...(claim.end_secret !== undefined && { endSecret: claim.end_secret }),
    }),
  )

/** The member `token_introspection` of a signed response (RFC 9701 §5). Unknown members are ignored. */
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
      token_type: z.string().regex(/^(?:bearer|dpop)$/i),
      cnf: z.object({ jkt: z.string().regex(/^[\w-]{43}$/) }).optional(),
      identity_type: IdentityType,
      verified_domain: z
        .string()
        .max(253)
        .regex(/^[a-z0-9.-]+$/)
        .optional(),
      registration_id: z.string().min(1).max(100).optional(),
      email: EmailAddress.optional(),
      claim: ConfirmedAgentClaim.optional(),
    })
    .refine(({ token_type: type, cnf }) => /^dpop$/i.test(type) === (cnf !== undefined), {
      path: ['cnf'],
    })
    .transform((response): Introspection => {
      const domain = {
        ...(response.verified_domain !== undefined && { verifiedDomain: response.verified_domain }),
      }
      return {
        active: true,
        clientId: response.client_id,
        scopes: new Set(response.scope.split(' ').filter(Boolean)),
        audience: [response.aud].flat(),
        expiresAt: new Date(response.exp * 1000),
        identityType: response.identity_type,
        ...(response.cnf !== undefined && { jkt: response.cnf.jkt }),
        ...(response.registration_id !== undefined && { registrationId: response.registration_id }),
        ...(response.email !== undefined && { email: response.email }),
        ...domain,
        ...(response.claim !== undefined && { agent: { ...response.claim, ...domain } }),
      }
    }),
])

export const INTROSPECTION_TYPE = 'application/token-introspection+jwt'

/** The values against which every signed response is checked. */
interface ExpectedResponse {
  /** `iss`: the OAuth issuer. */
  readonly issuer: string
  /** `aud`: our client ID at the authorization server. */
  readonly audience: string
  readonly keys: JWTVerifyGetKey
  readonly now: () => Date
}

/** A response is refused when it is older, by its `iat`, than this and the clock tolerance together. */
const MAX_AGE_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5

/**
 * The claims of a signed response. Two are extensions of ours: `token_hash` binds the response to the introspected token, and
 * `revocation_mark` names the store that publishes the token's revocation.
 */
const SignedIntrospection = z.object({
  token_hash: z.string(),
  revocation_mark: z.string().optional(),
  token_introspection: TokenIntrospection,
})

/**
 * Verifies and parses a signed introspection response (RFC 9701 §5).
 *
 * @throws {AuthorizationServerFailure} when the response is too old, malformed, not signed by a published key, or for another
 *   client or token
 */
export async function parseSignedIntrospection(
  jwt: string,
  token: string,
  expected: ExpectedResponse,
): Promise<Introspection> {
  const response = SignedIntrospection.safeParse(await verifyPayload(jwt, expected))
  if (!response.success) {
    const invalidPaths = response.error.issues.map((issue) => issue.path.join('.')).join(', ')
    throw new AuthorizationServerFailure(`the introspection response has another shape at ${invalidPaths}`)
  }
  if (response.data.token_hash !== sha256Base64url(token))
    throw new AuthorizationServerFailure('the introspection response is about another token')
  const { token_introspection: introspection, revocation_mark: revocationMark } = response.data
  return introspection.active && revocationMark !== undefined
    ? { ...introspection, revocationMark }
    : introspection
}

async function verifyPayload(jwt: string, expected: ExpectedResponse): Promise<unknown> {
  const { keys, issuer, audience, now } = expected
  try {
    const { payload } = await jwtVerify(
      jwt,
      async (header, input) => {
        if (!header.kid) throw new AuthorizationServerFailure('the introspection response names no key')
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
    throw new AuthorizationServerFailure('the introspection response cannot be verified', { cause })
  }
}

/** Returns the reason why an active token is not accepted for this audience at `now`; undefined if it is accepted. */
export function findIntrospectionFault(
  introspection: ActiveIntrospection,
  audience: string,
  now: Date,
): string | undefined {
  if (!introspection.audience.includes(audience)) return 'The token is for another service.'
  return introspection.expiresAt.getTime() <= now.getTime() ? 'The token has expired.' : undefined
}
