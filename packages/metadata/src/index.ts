export { API_TITLE, API_VERSION } from './api-version.ts'
export {
  AuthorizationServerMetadata,
  authorizationServerMetadata,
  CLIENT_AUTH_METHODS,
  GRANT_TYPES,
  JWT_BEARER_GRANT,
} from './authorization-server.ts'
export { type AgentCommand, agentCommands } from './documents/agent-commands.ts'
export type { DocumentConfig, ListedGuide, ResourceDocumentConfig } from './documents/document-config.ts'
export { authDocuments, guideDocuments, resourceDocuments } from './documents/documents-of.ts'
export { type DocumentLink, documentLinks, homeLinkHeader } from './documents/links.ts'
export {
  MCP_CAPABILITIES,
  MCP_VERSIONS,
  mcpInstructions,
  mcpServerInfo,
} from './documents/mcp-server-info.ts'
export {
  MCP_TOOLS,
  type McpTool,
  type McpToolName,
  MOST_TOOL_RESULTS,
} from './documents/mcp-tools.ts'
export type { ServedDocument } from './documents/served-document.ts'
export { AgentProblem, OAuthError, Problem as ProblemSchema } from './openapi/error-schemas.ts'
export { openApiDescription } from './openapi/openapi-description.ts'
export { LONGEST_SEARCH, MOST_GUIDES } from './operations/guides.ts'
export { CLIENT_ASSERTION_TYPE } from './operations/oauth.ts'
export type { Operation } from './operations/operation.ts'
export { OPERATIONS, operations } from './operations/operations.ts'
export { isLoopback, Origin } from './origin.ts'
export { APP_NAMES, type AppName, appFor, PATHS } from './paths.ts'
export { ProtectedResourceMetadata, protectedResourceMetadata } from './protected-resource.ts'
export { RETENTION, type RetentionRow, retentionDocument } from './retention.ts'
export { type ServiceUrls, serviceUrls } from './service-urls.ts'
