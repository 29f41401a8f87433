import { API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { SERVER_CARD_TYPE } from './catalogs.ts'
import { MCP_TOOLS, type McpTool } from './mcp-tools.ts'
import { JSON_TYPE, jsonDocument, type ServedDocument } from './served-document.ts'

/** The revisions that the MCP server is tested with, the newest first. */
export const MCP_VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const

export const MCP_CAPABILITIES = {
  tools: { listChanged: false },
  // SEP-1046: a client without a person gets its token with client credentials.
  extensions: { 'io.modelcontextprotocol/oauth-client-credentials': {} },
}

/** Who the MCP server says it is. Its name is the host in reverse order and one slash, as server cards want it. */
export const mcpServerInfo = ({ origin }: ServiceUrls) => ({
  name: `${reversedHost(origin)}/plainpath`,
  title: 'Plainpath',
  version: API_VERSION,
  description:
    'Sourced plain-English guides and answers on U.S. immigration, messages to staff, and a waitlist.',
  websiteUrl: `${origin}/`,
})

/** What a model is told before it uses any tool. */
export const mcpInstructions = (urls: ServiceUrls): string =>
  [
    'Plain-English guides to U.S. immigration. They are information, not legal advice.',
    'Call answer_question first. Put the questions in check to the person, and call it again with their answers as facts.',
    `Send as facts, too, what the person has already told you: ${urls.triggers} lists the triggers.`,
    'To read on, look for a guide with search_guides or list_guides and read it with get_guide.',
    'Name the official sources, show the disclaimer, and say when to talk to an attorney, as each guide lists it.',
    'You can also send a message to the Plainpath staff for a person, with send_contact_message. The person first',
    `verifies their e-mail address with you and agrees to the text: ${urls.authVerifiedEmail} leads through it.`,
    'get_contact_message says what became of the message, and withdraw_contact_message takes it back before it is delivered.',
    `Only these three tools need a token. ${urls.mcpMd} shows how a client connects and sends one.`,
  ].join(' ')

/** An address in brackets stays in order, without what the name of a server cannot hold. */
function reversedHost(origin: string): string {
  const { hostname } = new URL(origin)
  if (hostname.startsWith('[')) return hostname.slice(1, -1).replaceAll(':', '-')
  return hostname.split('.').toReversed().join('.')
}

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

/**
 * The card of the MCP server (SEP-2127), at the place that the draft reserves and, the same bytes, where clients of
 * its earlier revisions look.
 */
export function serverCards(urls: ServiceUrls): ServedDocument[] {
  const card = serverCard(urls)
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
function serverCard(urls: ServiceUrls) {
  const { name, title, version, description, websiteUrl } = mcpServerInfo(urls)
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
        headers: [authorizationHeader(urls)],
      },
    ],
    serverInfo: { name, title, version },
    protocolVersion: MCP_VERSIONS[0],
    serverUrl: urls.mcp,
    endpoint: urls.mcp,
    transport: { type: 'streamable-http', endpoint: urls.mcp, url: urls.mcp },
    capabilities: MCP_CAPABILITIES,
    authentication: { required: false, schemes: ['oauth2'], resource_metadata: urls.mcpProtectedResource },
    tools: Object.entries<McpTool>(MCP_TOOLS).map(([toolName, tool]) => ({
      name: toolName,
      title: tool.title,
      description: tool.description,
      annotations: tool.annotations,
    })),
  }
}

const authorizationHeader = (urls: ServiceUrls) => ({
  name: 'Authorization',
  description: `Optional, except for messages to staff. A token gives limits of your own. One that is bound to a key goes as DPoP, with a proof in the header DPoP. How to connect: ${urls.mcpMd}`,
  isRequired: false,
  isSecret: true,
  value: 'Bearer {access_token}',
  variables: {
    access_token: { description: `Access token for ${urls.mcp}`, isRequired: true, isSecret: true },
  },
})
