export { AGENT_ERRORS } from './documents/agent-errors.ts'
export { agentCommands } from './documents/auth-md.ts'
export { documentLinks, homeLinkHeader } from './documents/catalogs.ts'
export { authDocuments, resourceDocuments } from './documents/documents.ts'
export { MCP_VERSIONS, type McpEndpoint, mcpEndpoints, mcpServerInfo } from './documents/mcp-server.ts'
export { MCP_TOOLS, type McpTool, type McpToolName, MOST_TOOL_RESULTS } from './documents/mcp-tools.ts'
export type { ListedGuide } from './documents/served-document.ts'
export {
  APP_GRANT_TYPES,
  audienceAt,
  authorizationServerMetadata,
  GRANT_TYPES,
  JWT_BEARER_GRANT,
  mcpResourceMetadata,
  protectedResourceAt,
  protectedResourceMetadata,
  resourceNames,
} from './oauth-metadata.ts'
export { openApiDescription } from './openapi/openapi-description.ts'
export { LONGEST_SEARCH, MOST_GUIDES } from './operations/guides.ts'
export { CLIENT_ASSERTION_TYPE } from './operations/oauth.ts'
export type { Operation } from './operations/operation.ts'
export { OPERATIONS, operations } from './operations/operations.ts'
export { APP_NAMES, type AppName, appFor, PATHS } from './paths.ts'
export { readTemplate } from './read-template.ts'
export { RETENTION } from './retention.ts'
export { API_VERSION, isLoopback, Origin, type ServiceUrls, serviceUrls } from './service-urls.ts'
