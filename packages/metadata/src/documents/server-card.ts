import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { SERVER_CARD_TYPE } from './links.ts'
import { MCP_CAPABILITIES, MCP_VERSIONS, mcpServerInfo } from './mcp-server-info.ts'
import { MCP_TOOLS, type McpTool } from './mcp-tools.ts'
import { JSON_TYPE, jsonDocument, type ServedDocument } from './served-document.ts'

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

/**
 * The card of the MCP server (SEP-2127), at the place that the draft reserves and, the same bytes, where clients of
 * its earlier revisions look.
 */
export function serverCards(config: DocumentConfig): ServedDocument[] {
  const urls = serviceUrls(config.origin)
  const card = serverCard(config)
  return [urls.serverCard, ...urls.serverCardAliases].map((address) =>
    jsonDocument(address, card, {
      contentType: SERVER_CARD_TYPE,
      alsoAs: [JSON_TYPE],
      headers: {
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'Content-Type, If-None-Match',
      },
    }),
  )
}

/** The draft's members first; from `serverInfo` on, those of its earlier revisions, which clients still read. */
function serverCard({ origin }: DocumentConfig) {
  const urls = serviceUrls(origin)
  const { name, title, version, description, websiteUrl } = mcpServerInfo(origin)
  return {
    $schema: SCHEMA,
    name,
    version,
    title,
    description,
    websiteUrl,
    remotes: [
      {
        type: 'streamable-http',
        url: urls.mcp,
        supportedProtocolVersions: [...MCP_VERSIONS],
        headers: [authorizationHeader(origin)],
      },
    ],
    serverInfo: { name, title, version },
    protocolVersion: MCP_VERSIONS[0],
    serverUrl: urls.mcp,
    endpoint: urls.mcp,
    transport: { type: 'streamable-http', endpoint: urls.mcp, url: urls.mcp },
    capabilities: MCP_CAPABILITIES,
    authentication: { required: false, schemes: ['oauth2'], resource_metadata: urls.protectedResource },
    tools: Object.entries<McpTool>(MCP_TOOLS).map(([toolName, tool]) => ({
      name: toolName,
      title: tool.title,
      description: tool.description,
      annotations: tool.annotations,
    })),
  }
}

function authorizationHeader(origin: string) {
  const urls = serviceUrls(origin)
  return {
    name: 'Authorization',
    description: `Optional. A token (client_credentials) gives limits of your own; how to get one: ${urls.authMd}`,
    isRequired: false,
    isSecret: true,
    value: 'Bearer {access_token}',
    variables: {
      access_token: { description: `Access token for ${urls.base}`, isRequired: true, isSecret: true },
    },
  }
}
