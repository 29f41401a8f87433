// In this file, the suffix 1 marks names of version 1.x of the SDK.
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import {
  type OAuthClientProvider as OAuthClientProvider1,
  UnauthorizedError as UnauthorizedError1,
} from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as oauth from 'oauth4webapi'
import { createInitialize, parseMessage } from './app.ts'

/** A connection of a client library, for a person who signed in. */
interface SignedInClient extends AsyncDisposable {
  listTools(): Promise<readonly string[]>
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly isError?: boolean; readonly structuredContent?: Readonly<Record<string, unknown>> }>
  /** Requests new tokens with the refresh token, and uses them from then on. */
  refresh(): Promise<void>
  getAccessToken(): string
}

/** Shows the page to the person, and returns the address to which the browser was redirected. */
type SignIn = (authorizationUrl: URL) => Promise<URL>

/** An unmodified client library with its own authorization code flow, which returns to a loopback address. */
export interface SignInClient {
  readonly name: string
  /** @param url the signed-in MCP address @param redirectUri a loopback address */
  connect(
    url: string,
    options: { readonly redirectUri: string; readonly signIn: SignIn },
  ): Promise<SignedInClient>
}

const CLIENT_INFO = { name: 'plainpath-test', version: '1.0.0' }

const createMetadata = (redirectUri: string) => ({
  client_name: 'A client library',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
})

/** Creates a provider for either SDK, which stores its state in memory. */
function createMemoryProvider(redirectUri: string) {
  const stored: {
    client?: { client_id: string }
    tokens?: { access_token: string; token_type: string; refresh_token?: string }
    verifier?: string
    state?: string
    authorizationUrl?: URL
    discovery?: never
  } = {}
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: createMetadata(redirectUri),
    state: () => (stored.state = crypto.randomUUID()),
    clientInformation: () => stored.client,
    saveClientInformation: (client: { client_id: string }) => void (stored.client = client),
    tokens: () => stored.tokens,
    saveTokens: (tokens: NonNullable<typeof stored.tokens>) => void (stored.tokens = tokens),
    redirectToAuthorization: (url: URL) => void (stored.authorizationUrl = url),
    saveCodeVerifier: (verifier: string) => void (stored.verifier = verifier),
    codeVerifier: () => stored.verifier ?? '',
    saveDiscoveryState: (state: never) => void (stored.discovery = state),
    discoveryState: () => stored.discovery,
  }
  return { stored, provider }
}

interface AnyTransport {
  finishAuth(parameters: URLSearchParams): Promise<void>
}
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

/** Connects twice, as hosts with an SDK do: the first attempt ends with an authorization request. */
async function connectSdk(
  { stored }: Pick<ReturnType<typeof createMemoryProvider>, 'stored'>,
  signIn: SignIn,
  sdk: {
    open(): Promise<{ client: AnyClient; transport: AnyTransport; connect(): Promise<void> }>
    isUnauthorized(error: unknown): boolean
  },
): Promise<SignedInClient> {
  const firstAttempt = await sdk.open()
  try {
    await firstAttempt.connect()
    throw new Error('connected without a sign-in')
  } catch (error) {
    if (!sdk.isUnauthorized(error)) throw error
  }
  const { authorizationUrl, state } = stored
  if (!authorizationUrl) throw new Error('the SDK did not begin an authorization')
  const callback = await signIn(authorizationUrl)
  if (callback.searchParams.get('state') !== state) throw new Error('another state came back')
  await firstAttempt.transport.finishAuth(callback.searchParams)
  await firstAttempt.client.close()
  let { client, connect } = await sdk.open()
  await connect()
  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: { ...args } })) as never,
    async refresh() {
      // An SDK refreshes after a 401, which this invalid token causes.
      stored.tokens = { ...stored.tokens!, access_token: `ppt_${'A'.repeat(43)}` }
      await client.close()
      ;({ client, connect } = await sdk.open())
      await connect()
    },
    getAccessToken: () => stored.tokens?.access_token ?? '',
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** @param mode `auto` probes the server for the MCP revision of 2026; `legacy` uses the handshake of 2025 */
const connectSdk2 =
  (mode: 'auto' | 'legacy'): SignInClient['connect'] =>
  async (url, { redirectUri, signIn }) => {
    const memory = createMemoryProvider(redirectUri)
    return connectSdk(memory, signIn, {
      isUnauthorized: (error) => error instanceof UnauthorizedError,
      async open() {
        const client = new Client(CLIENT_INFO, { versionNegotiation: { mode } })
        const authProvider = memory.provider as unknown as OAuthClientProvider
        const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider })
        return { client: client as unknown as AnyClient, transport, connect: () => client.connect(transport) }
      },
    })
  }

const connectSdk1: SignInClient['connect'] = async (url, { redirectUri, signIn }) => {
  const memory = createMemoryProvider(redirectUri)
  return connectSdk(memory, signIn, {
    isUnauthorized: (error) => error instanceof UnauthorizedError1,
    async open() {
      const client = new Client1(CLIENT_INFO)
      const authProvider = memory.provider as unknown as OAuthClientProvider1
      const transport = new StreamableHTTPClientTransport1(new URL(url), { authProvider })
      return {
        client: client as unknown as AnyClient,
        // This SDK does not check the issuer.
        transport: { finishAuth: (parameters) => transport.finishAuth(parameters.get('code') ?? '') },
        connect: () => client.connect(transport),
      }
    },
  })
}

/** Lets `oauth4webapi` send requests without TLS, which the tested service does not have. */
const ALLOW_HTTP = { [oauth.allowInsecureRequests]: true } as const

/** Signs in and refreshes with `oauth4webapi`. That library does not know MCP, so this function builds the messages. */
const connectOauth4webapi: SignInClient['connect'] = async (url, { redirectUri, signIn }) => {
  const identifier = new URL(url)
  const resourceResponse = await oauth.resourceDiscoveryRequest(identifier, ALLOW_HTTP)
  const resource = await oauth.processResourceDiscoveryResponse(identifier, resourceResponse)
  const issuer = new URL(resource.authorization_servers?.[0] ?? '')
  const discoveryResponse = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...ALLOW_HTTP })
  const server = await oauth.processDiscoveryResponse(issuer, discoveryResponse)
  const registration = await oauth.dynamicClientRegistrationRequest(
    server,
    createMetadata(redirectUri),
    ALLOW_HTTP,
  )
  const client = await oauth.processDynamicClientRegistrationResponse(registration)
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const authorizationUrl = new URL(server.authorization_endpoint ?? '')
  authorizationUrl.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: resource.scopes_supported?.join(' ') ?? '',
    resource: resource.resource,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const parameters = oauth.validateAuthResponse(server, client, await signIn(authorizationUrl), state)
  const tokenResponse = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    { additionalParameters: { resource: resource.resource }, ...ALLOW_HTTP },
  )
  let tokens = await oauth.processAuthorizationCodeResponse(server, client, tokenResponse)

  async function send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const headers = new Headers({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await oauth.protectedResourceRequest(
      tokens.access_token,
      'POST',
      identifier,
      headers,
      body,
      ALLOW_HTTP,
    )
    if (response.status !== 200) throw new Error(`${response.status} for ${method}`)
    const { result, error } = parseMessage(await response.text())
    if (error !== undefined) throw new Error(JSON.stringify(error))
    return result as Readonly<Record<string, unknown>>
  }
  const firstMessage = createInitialize(CLIENT_INFO, {})
  await send(firstMessage.method, firstMessage.params)
  return {
    listTools: async () =>
      ((await send('tools/list'))['tools'] as { name: string }[]).map(({ name }) => name),
    call: async (name, args) => await send('tools/call', { name, arguments: args }),
    async refresh() {
      const refreshResponse = await oauth.refreshTokenGrantRequest(
        server,
        client,
        oauth.None(),
        tokens.refresh_token ?? '',
        ALLOW_HTTP,
      )
      tokens = await oauth.processRefreshTokenResponse(server, client, refreshResponse)
    },
    getAccessToken: () => tokens.access_token,
    [Symbol.asyncDispose]: async () => {},
  }
}

export const SIGN_IN_CLIENTS: readonly SignInClient[] = [
  { name: '@modelcontextprotocol/client 2.x', connect: connectSdk2('auto') },
  { name: '@modelcontextprotocol/client 2.x, revision of 2025', connect: connectSdk2('legacy') },
  { name: '@modelcontextprotocol/sdk 1.x', connect: connectSdk1 },
  { name: 'oauth4webapi', connect: connectOauth4webapi },
]
