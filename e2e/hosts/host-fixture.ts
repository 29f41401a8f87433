/*
 * The type of the fixtures of chat hosts and IDEs, and the values that several fixtures share. A fixture describes only
 * behaviour of a host that is documented or was reported. Where a host repeats values that our server publishes, the fixture
 * names them by a keyword such as `as published`, and the test fills them in.
 */

/** A URI in which `PORT` stands for the random port on which a program listens. */
type RedirectUri = string

/** How a host identifies itself: by the URL of its Client ID Metadata Document, or by registering (RFC 7591). */
type Identification =
  | {
      readonly by: 'document'
      /** The URL of the document. Absent if each connection has its own document, which the test publishes. */
      readonly clientId?: string
      /** The document without `client_id`, and without the keys of `private_key_jwt`. */
      readonly document: Readonly<Record<string, unknown>>
    }
  | { readonly by: 'registration'; readonly body: Readonly<Record<string, unknown>> }

export interface HostFixture {
  readonly name: string
  /** Where the behaviour is documented or reported. Names with numbers are GitHub issues, unless stated otherwise. */
  readonly source: string
  readonly identification: Identification
  /** The redirect URI of the authorization request. It matches one in the document or the registration. */
  readonly redirectUri: RedirectUri
  /**
   * The host's value of `resource` in the authorization request and in the exchange of the code: the one in our resource
   * metadata, the same with `/` appended, or none.
   */
  readonly resource: 'as published' | 'with trailing slash' | 'omitted'
  /**
   * The host's value of `scope` in the authorization request. The resource scopes are `scopes_supported` of our resource
   * metadata. The server scopes are `scopes_supported` of the authorization server's metadata. The leading space precedes the
   * resource scopes.
   */
  readonly scope:
    | 'resource scopes'
    | 'resource scopes and offline_access'
    | 'with leading space and offline_access'
    | 'server scopes'
    | 'omitted'
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  /** The algorithm with which the host signs client assertions (RFC 7523). Absent if it sends none. */
  readonly assertionAlgorithm?: 'RS256'
  /** The `User-Agent` of its OAuth requests, and of its requests to the MCP server. */
  readonly userAgents: { readonly oauth: string; readonly mcp: string }
  /** The name and version in the host's `initialize`. */
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** The capabilities in the host's `initialize`. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** The MCP protocol version in the host's `initialize`; by default 2025-11-25. */
  readonly revision?: '2025-06-18'
  /** True if the host sends `server/discover` before `initialize`. */
  readonly discoversFirst?: boolean
  /**
   * The locations of the resource metadata that the host requests, in order; one may occur twice. The host uses the first
   * response. `path` is the well-known path followed by the path of the MCP address, and `root` is the well-known path alone. By
   * default the host requests the URL in the `WWW-Authenticate` challenge.
   */
  readonly metadataLocations?: readonly ('path' | 'root')[]
}

const GRANT_TYPES = ['authorization_code', 'refresh_token']
export const PUBLIC_CLIENT = {
  grant_types: GRANT_TYPES,
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
} as const

const MCP_APPS_CAPABILITY = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
}

/* Each constant from here to `GEMINI` has the members that several fixtures share. */

export const CLAUDE = {
  userAgents: { oauth: 'python-httpx/0.28.1', mcp: 'Claude-User' },
  clientInfo: { name: 'Anthropic/ClaudeAI', version: '1.0.0' },
  capabilities: MCP_APPS_CAPABILITY,
  discoversFirst: true,
} as const

export const CLAUDE_CODE = {
  userAgents: { oauth: 'Bun/1.3.0', mcp: 'claude-code/2.1.251 (cli)' },
  clientInfo: { name: 'claude-code', version: '2.1.251' },
  capabilities: { roots: {}, elicitation: {} },
} as const

export const CHATGPT = {
  userAgents: { oauth: 'Python/3.12 aiohttp/3.12.15', mcp: 'openai-mcp/1.0.0 (ChatGPT)' },
  clientInfo: { name: 'openai-mcp (ChatGPT)', version: '1.0.0' },
  capabilities: { experimental: { 'openai/visibility': { enabled: true } }, ...MCP_APPS_CAPABILITY },
  metadataLocations: ['path', 'root'],
} as const

export const CURSOR = {
  userAgents: { oauth: 'node', mcp: 'Cursor/3.14.0' },
  clientInfo: { name: 'cursor-vscode', version: '1.0.0' },
  capabilities: {
    tools: true,
    prompts: true,
    resources: true,
    roots: { listChanged: false },
    elicitation: {},
  },
  metadataLocations: ['path', 'root'],
} as const

export const VS_CODE = {
  userAgents: { oauth: 'Visual Studio Code/1.124.0', mcp: 'node' },
  clientInfo: { name: 'Visual Studio Code', version: '1.124.0' },
  capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } },
} as const

export const GROK = {
  userAgents: { oauth: 'xai-mcp/1.0', mcp: 'xai-mcp/1.0' },
  clientInfo: { name: 'grok', version: '1.0.0' },
  capabilities: {},
} as const

export const GEMINI = {
  userAgents: { oauth: 'Google-Gemini', mcp: 'Google-Gemini' },
  clientInfo: { name: 'gemini', version: '1.0.0' },
  capabilities: {},
} as const

/** The document as quoted in the GitHub issues django-oauth-toolkit 1845 and Altinity/altinity-mcp 118. */
export const CHATGPT_DOCUMENT = {
  client_uri: 'https://chatgpt.com/',
  grant_types: GRANT_TYPES,
  response_types: ['code'],
  client_name: 'ChatGPT',
  logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
  token_endpoint_auth_signing_alg: 'RS256',
} as const

/** Cursor, Cursor Agents and Grok Bot register all three redirect URIs in one request. */
export const CURSOR_REGISTRATION = {
  client_name: 'Cursor',
  redirect_uris: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  ...PUBLIC_CLIENT,
} as const

export const VS_CODE_REGISTRATION = {
  client_name: 'Visual Studio Code',
  client_uri: 'https://code.visualstudio.com',
  redirect_uris: [
    'https://insiders.vscode.dev/redirect',
    'https://vscode.dev/redirect',
    'http://127.0.0.1/',
    'http://127.0.0.1:33418/',
  ],
  ...PUBLIC_CLIENT,
  application_type: 'native',
} as const

export const VS_CODE_DOCUMENT = {
  client_name: 'Visual Studio Code',
  client_uri: 'https://vscode.dev/product',
  grant_types: [...GRANT_TYPES, 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1:33418/', 'http://127.0.0.1/', 'https://vscode.dev/redirect'],
  token_endpoint_auth_method: 'none',
  application_type: 'native',
} as const

export const GROK_REDIRECT_URIS = [
  'https://grok.com/connectors-oauth-exchange-code/',
  'https://console.x.ai/connectors-oauth-exchange-code/',
]
