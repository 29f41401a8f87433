export { AGENT_ERRORS } from './documents/agent-errors.ts'
export { listAgentCommands } from './documents/auth-md.ts'
export { formatHomeLinkHeader, listDocumentLinks } from './documents/catalogs.ts'
export { createAuthDocuments, createResourceDocuments } from './documents/documents.ts'
export {
  createMcpEndpoints,
  createMcpServerInfo,
  MCP_VERSIONS,
  type McpEndpoint,
} from './documents/mcp-server.ts'
export { MAX_TOOL_RESULTS, MCP_TOOLS, type McpTool, type McpToolName } from './documents/mcp-tools.ts'
export type { ListedGuide } from './documents/served-document.ts'
export {
  AGENT_GRANT_TYPES,
  APP_GRANT_TYPES,
  createAuthorizationServerMetadata,
  createMcpResourceMetadata,
  createProtectedResourceMetadata,
  getAudience,
  getResourceMetadataUrl,
  JWT_BEARER_GRANT,
  listResourceIdentifiers,
} from './oauth-metadata.ts'
export { createOpenApiDescription } from './openapi/openapi-description.ts'
export { MAX_GUIDES, MAX_SEARCH_CHARACTERS } from './operations/guides.ts'
export { CLIENT_ASSERTION_TYPE } from './operations/oauth.ts'
export type { Operation } from './operations/operation.ts'
export { OPERATIONS, operations } from './operations/operations.ts'
export { APP_NAMES, type AppName, findApp, PATHS } from './paths.ts'
export { readTemplate } from './read-template.ts'
export { RETENTION } from './retention.ts'
export { API_VERSION, createServiceUrls, isLoopback, Origin, type ServiceUrls } from './service-urls.ts'
