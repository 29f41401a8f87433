import { Scope } from '@plainpath/domain'
import { z } from 'zod'
import { serviceUrls } from './service-urls.ts'

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
  revocation_endpoint_auth_methods_supported: z.array(z.string()).min(1),
  protected_resources: z.array(z.url()),
  agent_auth: z.strictObject({
    register_uri: z.url(),
    identity_types_supported: z.array(z.string()).min(1),
    anonymous: z.strictObject({ credential_types_supported: z.array(z.string()).min(1) }),
  }),
})
export type AuthorizationServerMetadata = z.infer<typeof AuthorizationServerMetadata>

export const GRANT_TYPES = ['client_credentials'] as const
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const

/**
 * The document at `/.well-known/oauth-authorization-server`. It names only what runs, with one exception that
 * client libraries ask for: `authorization_endpoint` exists and always answers `unsupported_response_type`.
 */
export function authorizationServerMetadata(config: {
  origin: string
  scopes: readonly Scope[]
}): AuthorizationServerMetadata {
  const urls = serviceUrls(config.origin)
  return AuthorizationServerMetadata.parse({
    issuer: urls.origin,
    authorization_endpoint: urls.authorize,
    token_endpoint: urls.token,
    revocation_endpoint: urls.revoke,
    jwks_uri: urls.jwks,
    scopes_supported: [...config.scopes],
    response_types_supported: [],
    grant_types_supported: [...GRANT_TYPES],
    token_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    protected_resources: [urls.base],
    agent_auth: {
      register_uri: urls.register,
      identity_types_supported: ['anonymous'],
      anonymous: { credential_types_supported: ['client_credentials'] },
    },
  })
}
