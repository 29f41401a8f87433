import { ASSERTION_ALGORITHMS, Scope } from '@plainpath/domain'
import { API_TITLE, type ServiceUrls } from './service-urls.ts'

export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The grants that the token endpoint knows. */
export const GRANT_TYPES: readonly string[] = ['client_credentials', JWT_BEARER_GRANT]
const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/**
 * The document at `/.well-known/oauth-authorization-server` (RFC 8414 §2). It names only what runs, with one exception:
 * `authorization_endpoint` always responds with `unsupported_response_type`. RFC 8414 lets a server without a grant that uses it
 * leave it out, but both generations of the MCP SDK then reject the whole document, and oauth4webapi, openid-client,
 * simple-oauth2 and requests-oauthlib do not mind it. `e2e/in-process/foreign-clients.test.ts` runs them with and without it.
 */
export const authorizationServerMetadata = (urls: ServiceUrls) => ({
  issuer: urls.origin,
  authorization_endpoint: urls.authorize,
  token_endpoint: urls.token,
  revocation_endpoint: urls.revoke,
  jwks_uri: urls.jwks,
  scopes_supported: Scope.options,
  response_types_supported: [],
  grant_types_supported: GRANT_TYPES,
  token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  client_id_metadata_document_supported: true,
  revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  dpop_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  protected_resources: resourceNames(urls),
  service_documentation: urls.authMd,
  op_policy_uri: urls.privacy,
  op_tos_uri: urls.terms,
  agent_auth: agentAuth(urls),
})

/** Where agents register, in the names of auth.md 0.1. */
function agentAuth(urls: ServiceUrls) {
  const identityType = { credential_types_supported: ['access_token'], claim_uri: urls.claim }
  return {
    skill: urls.authMd,
    register_uri: urls.register,
    claim_uri: urls.claim,
    claim_complete_uri: `${urls.claim}/complete`,
    identity_types_supported: ['anonymous', 'identity_assertion'],
    anonymous: identityType,
    identity_assertion: { ...identityType, assertion_types_supported: ['verified_email'] },
  }
}

/** The names of the one resource that tokens are for: the API, and the MCP server in it. Each is good at both addresses. */
export const resourceNames = (urls: ServiceUrls): string[] => [urls.base, urls.mcp]

/** Returns the address of the metadata for the resource at a path. */
export const protectedResourceAt = (urls: ServiceUrls, path: string): string =>
  path === new URL(urls.mcp).pathname ? urls.mcpProtectedResource : urls.protectedResource

/** The metadata of the API (RFC 9728 §2). */
export const protectedResourceMetadata = (urls: ServiceUrls) => ({
  resource: urls.base,
  authorization_servers: [urls.origin],
  scopes_supported: Scope.options,
  bearer_methods_supported: ['header'],
  dpop_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  dpop_bound_access_tokens_required: false,
  resource_name: API_TITLE,
  resource_documentation: urls.authMd,
  resource_policy_uri: urls.privacy,
  resource_tos_uri: urls.terms,
})

/** The same for the MCP server, whose `resource` must be its address (RFC 9728 §3.3). */
export const mcpResourceMetadata = (urls: ServiceUrls) => ({
  ...protectedResourceMetadata(urls),
  resource: urls.mcp,
  resource_name: 'Plainpath MCP server',
  resource_documentation: urls.mcpMd,
})
