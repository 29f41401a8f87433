import {
  auth,
  Client,
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
// In this file, the suffix 1 marks names of version 1.x of the SDK, and the suffix 2 marks names of version 2.x.
import { auth as auth1 } from '@modelcontextprotocol/sdk/client/auth.js'
import {
  ClientCredentialsProvider as ClientCredentialsProvider1,
  PrivateKeyJwtProvider as PrivateKeyJwtProvider1,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** The credentials of a client that authenticates with a secret. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  /** The issuer at which the client is registered. SDK 2.x sends the credentials to no other authorization server. */
  readonly expectedIssuer: string
}

/** The credentials of a client that authenticates with a key. */
export interface KeyCredentials {
  /** The client id, which may be the URL of a document. */
  readonly clientId: string
  /** The private key as a JWK. */
  readonly privateKey: Record<string, unknown>
  /** The JWS algorithm of the key, such as `ES256`. */
  readonly algorithm: string
  /** See `Credentials`. */
  readonly expectedIssuer: string
}

interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
}

/** An MCP client that is connected to a server, whichever SDK it uses. */
export interface ConnectedClient extends AsyncDisposable {
  readonly serverInfo: unknown
  readonly capabilities: unknown
  readonly instructions: string | undefined
  /** The negotiated revision of the protocol. */
  readonly version: string | undefined
  listTools(): Promise<readonly Record<string, unknown>[]>
  call(name: string, args: Record<string, unknown>): Promise<ToolResult>
}

export interface ConnectOptions {
  readonly credentials?: Credentials | KeyCredentials
  /** True to request a token before the first message; otherwise the client requests one after a 401. */
  readonly signIn?: boolean
  /** A token that the client already has. */
  readonly oldToken?: string
  /** Replaces `fetch` for the connection. A token request because of `signIn` does not use it. */
  readonly fetch?: typeof fetch
}

const CLIENT_INFO = { name: 'plainpath-test', version: '1.0.0' }

/** The methods that the clients of both SDKs have in common. */
interface AnyClient {
  getServerVersion(): unknown
  getServerCapabilities(): unknown
  getInstructions(): string | undefined
  listTools(): Promise<{ tools: unknown[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const createConnectedClient = (client: AnyClient, version: string | undefined): ConnectedClient => ({
  serverInfo: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  version,
  listTools: async () => (await client.listTools()).tools as Record<string, unknown>[],
  call: async (name, args) => (await client.callTool({ name, arguments: args })) as ToolResult,
  [Symbol.asyncDispose]: () => client.close(),
})

const createTokens = (token: string) => ({ access_token: token, token_type: 'Bearer' })

const createProvider2 = (credentials: Credentials | KeyCredentials) =>
  'privateKey' in credentials
    ? new PrivateKeyJwtProvider(credentials)
    : new ClientCredentialsProvider(credentials)
const createProvider1 = (credentials: Credentials | KeyCredentials) =>
  'privateKey' in credentials
    ? new PrivateKeyJwtProvider1(credentials)
    : new ClientCredentialsProvider1(credentials)

/** Connects with `@modelcontextprotocol/client`. `auto` negotiates the newest revision, `legacy` starts like clients of 2025. */
const connect2 =
  (mode: 'auto' | 'legacy') =>
  async (url: string, { credentials, signIn, oldToken, fetch }: ConnectOptions): Promise<ConnectedClient> => {
    const authProvider = credentials && createProvider2(credentials)
    if (authProvider && oldToken) authProvider.saveTokens(createTokens(oldToken))
    if (authProvider && signIn) await auth(authProvider, { serverUrl: url })
    const client = new Client(CLIENT_INFO, { versionNegotiation: { mode } })
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      ...(authProvider && { authProvider }),
      ...(fetch && { fetch }),
    })
    await client.connect(transport)
    return createConnectedClient(client, client.getNegotiatedProtocolVersion())
  }

/** Connects with `@modelcontextprotocol/sdk` 1.x. */
async function connect1(
  url: string,
  { credentials, signIn, oldToken, fetch }: ConnectOptions,
): Promise<ConnectedClient> {
  const authProvider = credentials && createProvider1(credentials)
  if (authProvider && oldToken) authProvider.saveTokens(createTokens(oldToken))
  if (authProvider && signIn) await auth1(authProvider, { serverUrl: url })
  const client = new Client1(CLIENT_INFO)
  const transport = new StreamableHTTPClientTransport1(new URL(url), {
    ...(authProvider && { authProvider }),
    ...(fetch && { fetch }),
  })
  await client.connect(transport)
  return createConnectedClient(client, transport.protocolVersion)
}

/** The official clients, and the revision that each negotiates with us. */
export const MCP_CLIENTS = [
  { name: '@modelcontextprotocol/client 2.x', version: '2026-07-28', connect: connect2('auto') },
  {
    name: '@modelcontextprotocol/client 2.x, revision of 2025',
    version: '2025-11-25',
    connect: connect2('legacy'),
  },
  { name: '@modelcontextprotocol/sdk 1.x', version: '2025-11-25', connect: connect1 },
] as const
