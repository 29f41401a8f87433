import { ASSERTION_ALGORITHMS, Scope } from '@plainpath/domain'
import { API_TITLE, type ServiceUrls } from './service-urls.ts'

export const JWT_BEARER_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The grant types of agents. */
export const AGENT_GRANT_TYPES: readonly string[] = ['client_credentials', JWT_BEARER_GRANT_TYPE]
/** The grant types of apps that people connect. */
export const APP_GRANT_TYPES: readonly string[] = ['authorization_code', 'refresh_token']
/** The client authentication methods of agents, and `none` for apps without a key. */
const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/**
 * Creates the authorization server metadata (RFC 8414 §2). Every app receives a refresh token. `scopes_supported` nevertheless
 * has `offline_access`, because some apps ask for refresh tokens only if a server lists that scope.
 */
export const createAuthorizationServerMetadata = (urls: ServiceUrls) => ({
  issuer: urls.origin,
  authorization_endpoint: urls.authorize,
  token_endpoint: urls.token,
  revocation_endpoint: urls.revoke,
  registration_endpoint: urls.registerApp,
  jwks_uri: urls.jwks,
  scopes_supported: [...Scope.options, 'offline_access'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: [...APP_GRANT_TYPES, ...AGENT_GRANT_TYPES],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  client_id_metadata_document_supported: true,
  revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  dpop_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  protected_resources: [...listResourceIdentifiers(urls), urls.signedInMcp],
  service_documentation: urls.authMd,
  op_policy_uri: urls.privacy,
  op_tos_uri: urls.terms,
  agent_auth: describeAgentAuth(urls),
})

/** Describes agent registration, with the member names of auth.md 0.1. */
function describeAgentAuth(urls: ServiceUrls) {
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

/** Returns the two identifiers of the agents' resource: the API and its MCP server. A token is valid at both. */
export const listResourceIdentifiers = (urls: ServiceUrls): string[] => [urls.base, urls.mcp]

const MCP_PATH = '/api/mcp'
/** The signed-in MCP server is a separate resource: a token for one resource is invalid at the other. */
const SIGNED_IN_MCP_PATH = '/mcp'

/** Returns the token audience that a path accepts. */
export const getAudienceForPath = (urls: ServiceUrls, path: string): string =>
  path === SIGNED_IN_MCP_PATH ? urls.signedInMcp : urls.base

/** Returns the address of the resource metadata for a path: an MCP server's own metadata, or else the API's. */
export function getResourceMetadataUrl(urls: ServiceUrls, path: string): string {
  if (path === SIGNED_IN_MCP_PATH) return urls.signedInMcpProtectedResource
  return path === MCP_PATH ? urls.mcpProtectedResource : urls.protectedResource
}

/** Creates the API's resource metadata (RFC 9728 §2). */
export const createProtectedResourceMetadata = (urls: ServiceUrls) => ({
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

/** Creates the resource metadata of the agents' MCP server. `resource` must be the server's address (RFC 9728 §3.3). */
export const createMcpResourceMetadata = (urls: ServiceUrls) => ({
  ...createProtectedResourceMetadata(urls),
  resource: urls.mcp,
  resource_name: 'Plainpath MCP server',
  resource_documentation: urls.mcpMd,
})

/**
 * Creates the resource metadata of the signed-in MCP server. It is a separate resource, whose tokens are valid nowhere else. Its
 * only scope is granted when the person connects, because apps handle step-up authorization badly.
 */
export const createSignedInMcpResourceMetadata = (urls: ServiceUrls) => ({
  ...createMcpResourceMetadata(urls),
  resource: urls.signedInMcp,
  scopes_supported: ['contact:write'],
  resource_name: 'Plainpath MCP server, signed in',
})
