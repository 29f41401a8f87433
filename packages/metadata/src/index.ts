/*
 * The descriptions that the service publishes of itself: URLs, OAuth metadata, API operations and their OpenAPI description, MCP
 * tools, documents for agents, and the retention table. Also the table of the paths that each app serves, and the reader of
 * templates for documents and mails.
 */
export { AGENT_ERRORS } from './documents/agent-errors.ts'
export { listAgentShellCommands } from './documents/auth-md.ts'
export { formatHomeLinkHeader, listDocumentLinks } from './documents/catalogs.ts'
export { createAuthDocuments, createResourceDocuments } from './documents/documents.ts'
export {
  createMcpEndpoints,
  createMcpServerInfo,
  MCP_VERSIONS,
  type McpEndpoint,
} from './documents/mcp-server.ts'
export {
  MAX_GUIDES_PER_TOOL_SEARCH,
  MCP_TOOLS,
  type McpTool,
  type McpToolName,
} from './documents/mcp-tools.ts'
export type { ListedGuide } from './documents/served-document.ts'
export {
  AGENT_GRANT_TYPES,
  APP_GRANT_TYPES,
  createAuthorizationServerMetadata,
  createMcpResourceMetadata,
  createProtectedResourceMetadata,
  getAudienceForPath,
  getResourceMetadataUrl,
  JWT_BEARER_GRANT_TYPE,
  listResourceIdentifiers,
} from './oauth-metadata.ts'
export { createOpenApiDescription } from './openapi/openapi-description.ts'
export { MAX_GUIDES_PER_PAGE, MAX_SEARCH_CHARACTERS } from './operations/guides.ts'
export { CLIENT_ASSERTION_TYPE } from './operations/oauth.ts'
export type { Operation } from './operations/operation.ts'
export { OPERATION_LIST, operations } from './operations/operations.ts'
export { APP_NAMES, APP_PATHS, type AppName, findAppForPath } from './paths.ts'
export { readTemplate } from './read-template.ts'
export { RETENTION } from './retention.ts'
export { API_VERSION, createServiceUrls, isLoopbackOrigin, Origin, type ServiceUrls } from './service-urls.ts'
