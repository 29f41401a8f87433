import { API_VERSION, type ServiceUrls } from '../service-urls.ts'
import { SERVER_CARD_TYPE } from './catalogs.ts'
import { MCP_TOOLS, type McpTool, type McpToolName, PUBLIC_TOOLS } from './mcp-tools.ts'
import { createJsonDocument, JSON_TYPE, type ServedDocument } from './served-document.ts'

/** The protocol revisions that the MCP server supports and tests cover, newest first. */
export const MCP_VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const

/** An address of the MCP server, with the capabilities and the tools that it offers there. */
export interface McpEndpoint {
  readonly address: string
  readonly capabilities: {
    readonly tools: { readonly listChanged: boolean }
    readonly extensions?: Record<string, Record<string, never>>
  }
  /** Instructions for the model, which the server sends before any tool call. */
  readonly instructions: string
  /** The tools, in the order of `tools/list`. */
  readonly tools: readonly McpToolName[]
}

const TOOLS_ONLY = { tools: { listChanged: false } }
const ALL_TOOLS = Object.keys(MCP_TOOLS) as McpToolName[]

/** Creates the MCP server's endpoints: one for agents, and two for people in a chat app. */
export const createMcpEndpoints = (urls: ServiceUrls) => ({
  agents: {
    address: urls.mcp,
    // SEP-1046: a client without a person gets its token with client credentials.
    capabilities: { ...TOOLS_ONLY, extensions: { 'io.modelcontextprotocol/oauth-client-credentials': {} } },
    instructions: formatInstructions(urls, listAgentInstructions(urls)),
    tools: ALL_TOOLS,
  } satisfies McpEndpoint,
  signedIn: {
    address: urls.signedInMcp,
    capabilities: TOOLS_ONLY,
    instructions: formatInstructions(urls, listSignedInInstructions(urls)),
    tools: ALL_TOOLS,
  } satisfies McpEndpoint,
  /** Undefined if no public origin is configured. */
  public:
    urls.publicMcp === undefined
      ? undefined
      : ({
          address: urls.publicMcp,
          capabilities: TOOLS_ONLY,
          instructions: formatInstructions(urls, listPublicInstructions(urls)),
          tools: PUBLIC_TOOLS,
        } satisfies McpEndpoint),
})

/** Creates the MCP server's identity. Server cards require a name of this form: the reversed host, a slash and a word. */
export const createMcpServerInfo = ({ origin }: ServiceUrls) => ({
  name: `${reverseHost(origin)}/plainpath`,
  title: 'Plainpath',
  version: API_VERSION,
  description:
    'Sourced plain-English guides and answers on U.S. immigration, messages to staff, and a waitlist.',
  websiteUrl: `${origin}/`,
})

const formatInstructions = (urls: ServiceUrls, lines: readonly string[]): string =>
  [
    'Plain-English guides to U.S. immigration. They are information, not legal advice.',
    'Call answer_question first. Ask the person the questions in check, and call it again with their answers as facts.',
    `Send as facts, too, what the person has already told you: ${urls.triggers} lists the triggers.`,
    'To read on, look for a guide with search_guides or list_guides and read it with get_guide.',
    'Call get_help first when somebody is in danger or detained, or a hearing or a deadline is near.',
    'Name the official sources, show the disclaimer, and say when to talk to an attorney, as each guide lists it.',
    ...lines,
  ].join(' ')

const MESSAGE_FOLLOW_UP =
  'get_contact_message says what became of the message, and withdraw_contact_message takes it back before it is delivered.'

const listAgentInstructions = (urls: ServiceUrls) => [
  'You can also send a message to the Plainpath staff for a person, with send_contact_message. The person first',
  `verifies their e-mail address with you and agrees to the text: ${urls.authVerifiedEmail} leads through it.`,
  MESSAGE_FOLLOW_UP,
  `Only these three tools need a token. ${urls.mcpMd} shows how a client connects and sends one.`,
]

const listSignedInInstructions = (urls: ServiceUrls) => [
  'The person has signed in with their e-mail address, so you can send a message to the Plainpath staff for them, with',
  'send_contact_message. Show them the text first, and send it only if they agree. The reply goes to their e-mail address.',
  MESSAGE_FOLLOW_UP,
  `Never ask the person for a code from an e-mail: it belongs only on the pages of ${urls.origin}.`,
]

const listPublicInstructions = (urls: ServiceUrls) => [
  'Nobody signs in here, and nothing can be sent. To send a message to the Plainpath staff, or to join the waitlist, the person adds',
  `${urls.signedInMcp} to their app, and signs in with their e-mail address.`,
]

/** Reverses the labels of an origin's host. An IPv6 address keeps its order, and gets hyphens instead of colons. */
function reverseHost(origin: string): string {
  const { hostname } = new URL(origin)
  if (hostname.startsWith('[')) return hostname.slice(1, -1).replaceAll(':', '-')
  return hostname.split('.').toReversed().join('.')
}

const SERVER_CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

/**
 * Creates the MCP server card (SEP-2127), at the address that the draft reserves and at the addresses of its earlier revisions.
 */
export function createServerCards(urls: ServiceUrls): ServedDocument[] {
  const card = createServerCard(urls)
  return [urls.serverCard, ...urls.serverCardAliases].map((address) =>
    createJsonDocument(address, card, {
      contentType: SERVER_CARD_TYPE,
      otherTypes: [JSON_TYPE],
      headers: {
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'Content-Type, If-None-Match',
      },
    }),
  )
}

/** Creates the card. The members from `serverInfo` on are those of earlier revisions of the draft, which clients still read. */
function createServerCard(urls: ServiceUrls) {
  const { name, title, version, description, websiteUrl } = createMcpServerInfo(urls)
  return {
    $schema: SERVER_CARD_SCHEMA,
    name,
    version,
    title,
    description,
    websiteUrl,
    remotes: [
      describeRemote(urls.mcp, describeOptionalToken(urls)),
      ...(urls.publicMcp === undefined ? [] : [describeRemote(urls.publicMcp)]),
      describeRemote(urls.signedInMcp, describeSignInToken(urls)),
    ],
    serverInfo: { name, title, version },
    protocolVersion: MCP_VERSIONS[0],
    serverUrl: urls.mcp,
    endpoint: urls.mcp,
    transport: { type: 'streamable-http', endpoint: urls.mcp, url: urls.mcp },
    capabilities: createMcpEndpoints(urls).agents.capabilities,
    authentication: { required: false, schemes: ['oauth2'], resource_metadata: urls.mcpProtectedResource },
    tools: Object.entries<McpTool>(MCP_TOOLS).map(([toolName, tool]) => ({
      name: toolName,
      title: tool.title,
      description: tool.description,
      annotations: tool.annotations,
    })),
  }
}

const describeRemote = (url: string, ...headers: object[]) => ({
  type: 'streamable-http',
  url,
  supportedProtocolVersions: [...MCP_VERSIONS],
  ...(headers.length > 0 && { headers }),
})

const describeSignInToken = (urls: ServiceUrls) => ({
  name: 'Authorization',
  description: `For people in a chat app, who sign in by e-mail. The app gets the token with an authorization code: ${urls.signedInMcpProtectedResource}`,
  isRequired: true,
  isSecret: true,
  value: 'Bearer {access_token}',
  variables: {
    access_token: { description: `Access token for ${urls.signedInMcp}`, isRequired: true, isSecret: true },
  },
})

const describeOptionalToken = (urls: ServiceUrls) => ({
  name: 'Authorization',
  description: `Optional, except for messages to staff. A token gives limits of your own. One that is bound to a key goes as DPoP, with a proof in the header DPoP. How to connect: ${urls.mcpMd}`,
  isRequired: false,
  isSecret: true,
  value: 'Bearer {access_token}',
  variables: {
    access_token: { description: `Access token for ${urls.mcp}`, isRequired: true, isSecret: true },
  },
})
