export { API_VERSION } from './api-version.ts'
export {
  AuthorizationServerMetadata,
  GRANT_TYPES,
} from './authorization-server.ts'
export { agentCommands } from './documents/agent-commands.ts'
export type { ListedGuide } from './documents/document-config.ts'
export { authDocuments, guideDocuments, resourceDocuments } from './documents/documents-of.ts'
export { documentLinks, homeLinkHeader } from './documents/links.ts'
export {
  MCP_CAPABILITIES,
  mcpInstructions,
  mcpServerInfo,
} from './documents/mcp-server-info.ts'
export {
  MCP_TOOLS,
  type McpTool,
  type McpToolName,
  MOST_TOOL_RESULTS,
  mcpToolsOf,
} from './documents/mcp-tools.ts'
export { FEATURES, type Features, grantTypesOf, JWT_BEARER_GRANT, scopesOf } from './features.ts'
export { openApiDescription } from './openapi/openapi-description.ts'
export { LONGEST_SEARCH, MOST_GUIDES } from './operations/guides.ts'
export { CLIENT_ASSERTION_TYPE } from './operations/oauth.ts'
export type { Operation } from './operations/operation.ts'
export { OPERATIONS, operations, operationsOf } from './operations/operations.ts'
export { isLoopback, Origin } from './origin.ts'
export { APP_NAMES, type AppName, appFor, PATHS } from './paths.ts'
export { ProtectedResourceMetadata } from './protected-resource.ts'
export { RETENTION } from './retention.ts'
export { type ServiceUrls, serviceUrls } from './service-urls.ts'
