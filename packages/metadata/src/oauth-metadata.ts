import { ASSERTION_ALGORITHMS, Scope } from '@plainpath/domain'
import { z } from 'zod'
import { API_TITLE, type ServiceUrls, serviceUrls } from './service-urls.ts'

const IdentityType = z.strictObject({
  credential_types_supported: z.array(z.string()).min(1),
  claim_uri: z.url(),
})

/** Where agents register, in the names of auth.md 0.1. */
const AgentAuth = z.strictObject({
  skill: z.url(),
  register_uri: z.url(),
  claim_uri: z.url(),
  claim_complete_uri: z.url(),
  identity_types_supported: z.array(z.string()).min(1),
  anonymous: IdentityType,
  identity_assertion: IdentityType.extend({ assertion_types_supported: z.array(z.string()).min(1) }),
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
  op_policy_uri: z.url(),
  op_tos_uri: z.url(),
  agent_auth: AgentAuth,
})
export type AuthorizationServerMetadata = z.infer<typeof AuthorizationServerMetadata>

export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The grants that the token endpoint knows. */
export const GRANT_TYPES: readonly string[] = ['client_credentials', JWT_BEARER_GRANT]
const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/**
 * The document at `/.well-known/oauth-authorization-server`. It names only what runs, with one exception that
 * client libraries ask for: `authorization_endpoint` exists and always answers `unsupported_response_type`.
 */
export function authorizationServerMetadata({ origin }: { origin: string }): AuthorizationServerMetadata {
  const urls = serviceUrls(origin)
  return AuthorizationServerMetadata.parse({
    issuer: urls.origin,
    authorization_endpoint: urls.authorize,
    token_endpoint: urls.token,
    revocation_endpoint: urls.revoke,
    jwks_uri: urls.jwks,
    scopes_supported: Scope.options,
    response_types_supported: [],
    grant_types_supported: [...GRANT_TYPES],
    token_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    protected_resources: [urls.base],
    service_documentation: urls.authMd,
    op_policy_uri: urls.privacy,
    op_tos_uri: urls.terms,
    agent_auth: agentAuth(urls),
  })
}

function agentAuth(urls: ServiceUrls): z.input<typeof AgentAuth> {
  const identityType = { credential_types_supported: ['access_token'], claim_uri: urls.claim }
  return {
    skill: urls.authMd,
    register_uri: urls.register,
    claim_uri: urls.claim,
    claim_complete_uri: `${urls.claim}/complete`,
    identity_types_supported: ['anonymous', 'identity_assertion'],
    anonymous: identityType,
    identity_assertion: { assertion_types_supported: ['verified_email'], ...identityType },
  }
}

/** RFC 9728 §2, the members we publish. */
export const ProtectedResourceMetadata = z.strictObject({
  resource: z.url(),
  authorization_servers: z.array(z.url()).length(1),
  scopes_supported: z.array(Scope).min(1),
  bearer_methods_supported: z.array(z.literal('header')).length(1),
  resource_name: z.string(),
  resource_documentation: z.url(),
  resource_policy_uri: z.url(),
  resource_tos_uri: z.url(),
})
export type ProtectedResourceMetadata = z.infer<typeof ProtectedResourceMetadata>

/**
 * The document at `/.well-known/oauth-protected-resource/api`, where RFC 9728 §3.1 puts it, and the same bytes at
 * `/.well-known/oauth-protected-resource`, where most clients look.
 */
export function protectedResourceMetadata({ origin }: { origin: string }): ProtectedResourceMetadata {
  const urls = serviceUrls(origin)
  return ProtectedResourceMetadata.parse({
    resource: urls.base,
    authorization_servers: [urls.origin],
    scopes_supported: Scope.options,
    bearer_methods_supported: ['header'],
    resource_name: API_TITLE,
    resource_documentation: urls.authMd,
    resource_policy_uri: urls.privacy,
    resource_tos_uri: urls.terms,
  })
}
