import { ASSERTION_ALGORITHMS, Scope } from '@plainpath/domain'
import { API_TITLE, type ServiceUrls } from './service-urls.ts'

export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The grants of agents. */
export const GRANT_TYPES: readonly string[] = ['client_credentials', JWT_BEARER_GRANT]
/** The grants of apps that people connect from. */
export const APP_GRANT_TYPES: readonly string[] = ['authorization_code', 'refresh_token']
/** `none` is for apps only. */
const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/**
 * The document at `/.well-known/oauth-authorization-server` (RFC 8414 §2). `scopes_supported` has `offline_access`, since some
 * apps ask for no refresh token without it; every app gets one.
 */
export const authorizationServerMetadata = (urls: ServiceUrls) => ({
  issuer: urls.origin,
  authorization_endpoint: urls.authorize,
  token_endpoint: urls.token,
  revocation_endpoint: urls.revoke,
  registration_endpoint: urls.registerApp,
  jwks_uri: urls.jwks,
  scopes_supported: [...Scope.options, 'offline_access'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: [...APP_GRANT_TYPES, ...GRANT_TYPES],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  client_id_metadata_document_supported: true,
  revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  dpop_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  protected_resources: [...resourceNames(urls), urls.signedInMcp],
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

/** The names of the one resource that tokens of agents are for: the API, and the MCP server in it. Each is good at both addresses. */
export const resourceNames = (urls: ServiceUrls): string[] => [urls.base, urls.mcp]

const MCP_PATH = '/api/mcp'
/** The signed-in MCP server is another resource: a token for one is no good at the other. */
const SIGNED_IN_MCP_PATH = '/mcp'

/** Returns the audience of the tokens that are accepted at a path. */
export const audienceAt = (urls: ServiceUrls, path: string): string =>
  path === SIGNED_IN_MCP_PATH ? urls.signedInMcp : urls.base

/** Returns the address of the metadata for the resource at a path. */
export function protectedResourceAt(urls: ServiceUrls, path: string): string {
  if (path === SIGNED_IN_MCP_PATH) return urls.signedInMcpProtectedResource
  return path === MCP_PATH ? urls.mcpProtectedResource : urls.protectedResource
}

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

/**
 * The metadata of the MCP server for people who sign in: a resource of its own, whose tokens are good nowhere else. It has one
 * scope, which is granted when the person connects: apps handle a step-up badly.
 */
export const signedInMcpResourceMetadata = (urls: ServiceUrls) => ({
  ...mcpResourceMetadata(urls),
  resource: urls.signedInMcp,
  scopes_supported: ['contact:write'],
  resource_name: 'Plainpath MCP server, signed in',
})
