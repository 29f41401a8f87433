import { ASSERTION_ALGORITHMS, Scope } from '@plainpath/domain'
import { z } from 'zod'
import { FEATURES, type Features, grantTypesOf } from './features.ts'
import { serviceUrls } from './service-urls.ts'

const Anonymous = z.strictObject({
  credential_types_supported: z.array(z.string()).min(1),
  claim_uri: z.url().optional(),
})

/** Where agents register, in the names of auth.md 0.1; what belongs to claims is there once they run. */
const AgentAuth = z.strictObject({
  skill: z.url(),
  register_uri: z.url(),
  claim_uri: z.url().optional(),
  claim_complete_uri: z.url().optional(),
  identity_types_supported: z.array(z.string()).min(1),
  anonymous: Anonymous,
  identity_assertion: Anonymous.extend({ assertion_types_supported: z.array(z.string()).min(1) }).optional(),
})

/** RFC 8414 §2, the members we publish. Unknown ones are kept out by `strictObject`. */
export const AuthorizationServerMetadata = z.strictObject({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  revocation_endpoint: z.url(),
  jwks_uri: z.url(),
  scopes_supported: z.array(Scope),
  response_types_supported: z.array(z.string()).length(0),
  grant_types_supported: z.array(z.string()).min(1),
  token_endpoint_auth_methods_supported: z.array(z.string()).min(1),
  token_endpoint_auth_signing_alg_values_supported: z.array(z.string()).min(1),
  revocation_endpoint_auth_methods_supported: z.array(z.string()).min(1),
  revocation_endpoint_auth_signing_alg_values_supported: z.array(z.string()).min(1),
  protected_resources: z.array(z.url()),
  service_documentation: z.url(),
  op_policy_uri: z.url().optional(),
  op_tos_uri: z.url().optional(),
  agent_auth: AgentAuth,
})
export type AuthorizationServerMetadata = z.infer<typeof AuthorizationServerMetadata>

export const GRANT_TYPES: readonly string[] = grantTypesOf(FEATURES)
const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/**
 * The document at `/.well-known/oauth-authorization-server`. It names only what runs, with one exception that
 * client libraries ask for: `authorization_endpoint` exists and always answers `unsupported_response_type`.
 */
export function authorizationServerMetadata(config: {
  origin: string
  scopes: readonly Scope[]
  /** What runs in this version, unless given. */
  features?: Features
}): AuthorizationServerMetadata {
  const urls = serviceUrls(config.origin)
  const features = config.features ?? FEATURES
  return AuthorizationServerMetadata.parse({
    issuer: urls.origin,
    authorization_endpoint: urls.authorize,
    token_endpoint: urls.token,
    revocation_endpoint: urls.revoke,
    jwks_uri: urls.jwks,
    scopes_supported: [...config.scopes],
    response_types_supported: [],
    grant_types_supported: grantTypesOf(features),
    token_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    protected_resources: [urls.base],
    service_documentation: urls.authMd,
    ...(features.policies && { op_policy_uri: urls.privacy, op_tos_uri: urls.terms }),
    agent_auth: agentAuth(config.origin, features),
  })
}

const CREDENTIALS = { credential_types_supported: ['access_token'] }

function agentAuth(origin: string, { verifiedEmail }: Features): z.input<typeof AgentAuth> {
  const urls = serviceUrls(origin)
  const claim = { claim_uri: `${urls.agent}/claim` }
  return {
    skill: urls.authMd,
    register_uri: urls.register,
    ...(verifiedEmail && { ...claim, claim_complete_uri: `${urls.agent}/claim/complete` }),
    identity_types_supported: ['anonymous', ...(verifiedEmail ? ['identity_assertion'] : [])],
    anonymous: { ...CREDENTIALS, ...(verifiedEmail && claim) },
    ...(verifiedEmail && {
      identity_assertion: { assertion_types_supported: ['verified_email'], ...CREDENTIALS, ...claim },
    }),
  }
}
