import { createHash, randomBytes } from 'node:crypto'
import { createSender, form, type HttpResponse, json, type Sender } from '../send.ts'

/** An app as an OAuth client: it discovers, registers, exchanges codes and refresh tokens, and calls the MCP server. */
export interface App extends Disposable {
  readonly clientId: string
  readonly server: ServerMetadata
  readonly resource: ResourceMetadata
  /** Creates an authorization request with a new state and a new verifier. Does not send it. */
  authorize(options: AuthorizeOptions): Authorization
  /** Exchanges the code of a callback for tokens. `changes` replaces fields of the request, and undefined removes one. */
  exchange(authorization: Authorization, callback: URL, changes?: Fields): Promise<TokenResponse>
  refresh(refreshToken: string, changes?: Fields): Promise<TokenResponse>
  /** Sends a form to the token endpoint. Undefined fields are left out. */
  requestToken(fields: Fields): Promise<TokenResponse>
  revoke(token: string, fields?: Fields): Promise<HttpResponse>
  /** Sends a message to the signed-in MCP address, or to another path. */
  sendMessage(message: McpMessage, options?: McpOptions): Promise<HttpResponse>
  callTool(token: string, name: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult>
}

export type Fields = Readonly<Record<string, string | undefined>>

export interface ServerMetadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly revocation_endpoint: string
  readonly registration_endpoint: string
  readonly scopes_supported: readonly string[]
  readonly [member: string]: unknown
}
interface ResourceMetadata {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported: readonly string[]
  readonly [member: string]: unknown
}

export interface AuthorizeOptions {
  readonly redirectUri: string
  /** Replaces parameters of the request. An undefined value removes a parameter. */
  readonly changes?: Fields
}
export interface Authorization {
  readonly url: URL
  readonly state: string
  /** The PKCE code verifier. The URL has its challenge. */
  readonly verifier: string
  readonly redirectUri: string
}

export interface TokenResponse {
  readonly status: number
  readonly access_token?: string
  readonly refresh_token?: string
  readonly expires_in?: number
  readonly scope?: string
  readonly token_type?: string
  readonly error?: string
  readonly error_description?: string
}

/** A revision of the MCP specification. */
type Revision = '2025-06-18' | '2025-11-25' | '2026-07-28'

export interface McpMessage {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}
export interface McpOptions {
  readonly token?: string | undefined
  /** The path to which the message is sent; by default the signed-in address. */
  readonly path?: string
  readonly revision?: Revision
  readonly headers?: Readonly<Record<string, string>>
}
interface ToolResult {
  readonly status: number
  readonly isError?: boolean
  readonly text: string
  readonly structuredContent?: Readonly<Record<string, unknown>>
}

export interface AppOptions {
  readonly origin: string
  /** The id of a client that is already registered, or the URL of its document. */
  readonly clientId?: string
  /** The metadata with which the app registers (RFC 7591), unless it has a `clientId`. */
  readonly registration?: Readonly<Record<string, unknown>>
  /** The `User-Agent` of requests to the OAuth endpoints and metadata, and of MCP messages; by default none. */
  readonly userAgents?: { readonly oauth: string; readonly mcp: string }
  readonly clientInfo?: { readonly name: string; readonly version: string }
  readonly capabilities?: Readonly<Record<string, unknown>>
  /** The revision of the app's messages, unless the options of a message name another one. */
  readonly revision?: Revision
  /** The paths at which the app requests resource metadata. It uses the first response. By default the URL in the challenge. */
  readonly metadataPaths?: readonly string[]
  /** Adds the fields that authenticate the app at the token endpoint. */
  readonly authenticate?: (clientId: string, server: ServerMetadata) => Promise<Fields>
  /** The app's address, in 127.0.0.0/8. */
  readonly from?: string
}

/** Discovers the server from the challenge of the MCP address, as every host does, and registers if necessary. */
export async function openApp(options: AppOptions): Promise<App> {
  const { origin, userAgents, clientInfo = { name: 'an app', version: '1' }, capabilities = {} } = options
  const { revision = '2025-11-25' } = options
  await using opening = new AsyncDisposableStack()
  const sender = opening.use(createSender(origin, options.from === undefined ? {} : { from: options.from }))
  const oauthHeaders = userAgents ? { 'user-agent': userAgents.oauth } : {}
  const mcpHeaders = userAgents ? { 'user-agent': userAgents.mcp } : {}
  const getJson = <T>(url: string) => readJson<T>(sender, url, oauthHeaders)

  const sendMessage: App['sendMessage'] = (message, overrides = {}) =>
    sendMcp(sender, message, {
      revision,
      ...overrides,
      headers: { ...mcpHeaders, ...overrides.headers },
      clientInfo,
      capabilities,
    })

  const challengeResponse = await sendMessage(createInitialize(clientInfo, capabilities, revision))
  const metadataUrl = /resource_metadata="([^"]+)"/.exec(
    challengeResponse.headers.get('www-authenticate') ?? '',
  )?.[1]
  if (challengeResponse.status !== 401 || metadataUrl === undefined)
    throw new Error(`${challengeResponse.status} without a challenge: ${challengeResponse.text}`)
  const resource = await requestAll<ResourceMetadata>(options.metadataPaths ?? [metadataUrl], (url) =>
    getJson(new URL(url, origin).href),
  )
  const [issuer = ''] = resource.authorization_servers
  const server = await getJson<ServerMetadata>(`${issuer}/.well-known/oauth-authorization-server`)
  const clientId =
    options.clientId ?? (await register(sender, server, options.registration ?? {}, oauthHeaders))
  const authenticate = options.authenticate ?? (async () => ({}))
  const resources = opening.move()

  const sendForm = (url: string, fields: Fields) =>
    sender.send({
      method: 'POST',
      path: new URL(url).pathname,
      body: form(dropUndefined(fields)).body,
      headers: { ...form({}).headers, accept: 'application/json', ...oauthHeaders },
    })
  const requestToken: App['requestToken'] = async (fields) => {
    const clientFields = { client_id: clientId, ...(await authenticate(clientId, server)) }
    const response = await sendForm(server.token_endpoint, { ...clientFields, ...fields })
    return { status: response.status, ...(JSON.parse(response.text) as object) }
  }
  return {
    clientId,
    server,
    resource,
    requestToken,
    sendMessage,
    authorize({ redirectUri, changes = {} }) {
      const verifier = randomBytes(32).toString('base64url')
      const state = randomBytes(16).toString('base64url')
      const url = new URL(server.authorization_endpoint)
      const parameters = dropUndefined({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: computeChallenge(verifier),
        code_challenge_method: 'S256',
        resource: resource.resource,
        scope: resource.scopes_supported.join(' '),
        ...changes,
      })
      url.search = new URLSearchParams(parameters).toString()
      return { url, state, verifier, redirectUri }
    },
    exchange: ({ verifier, redirectUri }, callback, changes = {}) =>
      requestToken({
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code') ?? undefined,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        resource: resource.resource,
        ...changes,
      }),
    refresh: (refreshToken, changes = {}) =>
      requestToken({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        resource: resource.resource,
        ...changes,
      }),
    async revoke(token, fields = {}) {
      const clientFields = { client_id: clientId, ...(await authenticate(clientId, server)) }
      return sendForm(server.revocation_endpoint, { ...clientFields, token, ...fields })
    },
    async callTool(accessToken, name, args) {
      const response = await sendMessage(
        { method: 'tools/call', params: { name, arguments: args } },
        { token: accessToken },
      )
      const { result } = parseMessage(response.text) as { result?: RawToolResult }
      return {
        status: response.status,
        text: result?.content?.map(({ text = '' }) => text).join('\n') ?? response.text,
        ...(result?.isError !== undefined && { isError: result.isError }),
        ...(result?.structuredContent && { structuredContent: result.structuredContent }),
      }
    },
    [Symbol.dispose]: () => void resources.disposeAsync(),
  }
}

/** Sends a message to an MCP address, in the form of its revision. */
export function sendMcp(
  sender: Sender,
  { method, params = {} }: McpMessage,
  options: McpOptions & { readonly clientInfo: object; readonly capabilities: object },
): Promise<HttpResponse> {
  const { token, path = '/mcp', revision = '2025-11-25', headers, clientInfo, capabilities } = options
  // In the revision of 2026, each message names the client and its capabilities.
  const isModern = revision === '2026-07-28'
  const message = json({
    jsonrpc: '2.0',
    ...(!method.startsWith('notifications/') && { id: 1 }),
    method,
    params: { ...params, ...(isModern && { _meta: createModernMeta(clientInfo, capabilities) }) },
  })
  const modernHeaders = {
    'mcp-method': method,
    ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
  }
  return sender.send({
    method: 'POST',
    path,
    body: message.body,
    headers: {
      ...message.headers,
      accept: 'application/json, text/event-stream',
      ...(method !== 'initialize' && { 'mcp-protocol-version': revision }),
      ...(isModern && modernHeaders),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
  })
}

interface RawToolResult {
  readonly content?: readonly { readonly text?: string }[]
  readonly isError?: boolean
  readonly structuredContent?: Readonly<Record<string, unknown>>
}

const dropUndefined = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

const computeChallenge = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

/** Creates the first message of an MCP session. */
export const createInitialize = (
  clientInfo: object,
  capabilities: object,
  protocolVersion: Revision = '2025-11-25',
): McpMessage => ({ method: 'initialize', params: { protocolVersion, capabilities, clientInfo } })

/** Requests all URLs, one after another. @returns the response of the first URL */
async function requestAll<T>(urls: readonly string[], get: (url: string) => Promise<T>): Promise<T> {
  const [firstUrl = '', ...otherUrls] = urls
  const firstResponse = await get(firstUrl)
  for (const url of otherUrls) await get(url)
  return firstResponse
}

const createModernMeta = (clientInfo: object, clientCapabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
})

/** Reads the message of a response, which is JSON or an event stream with one message. */
export function parseMessage(text: string): Readonly<Record<string, unknown>> {
  const message = /^data: (.+)$/m.exec(text)?.[1] ?? text
  return JSON.parse(message) as Record<string, unknown>
}

async function readJson<T>(
  sender: Sender,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<T> {
  const { pathname } = new URL(url)
  const response = await sender.send({ path: pathname, headers: { accept: 'application/json', ...headers } })
  if (response.status !== 200) throw new Error(`${response.status} at ${url}: ${response.text}`)
  return JSON.parse(response.text) as T
}

async function register(
  sender: Sender,
  server: ServerMetadata,
  metadata: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await sendRegistration(sender, server, metadata, headers)
  if (response.status !== 201) throw new Error(`${response.status} instead of 201: ${response.text}`)
  return (JSON.parse(response.text) as { client_id: string }).client_id
}

/** Sends client metadata to the registration endpoint (RFC 7591). */
export const sendRegistration = (
  sender: Sender,
  server: Pick<ServerMetadata, 'registration_endpoint'>,
  metadata: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> => {
  const content = json(metadata)
  return sender.send({
    method: 'POST',
    path: new URL(server.registration_endpoint).pathname,
    body: content.body,
    headers: { ...content.headers, ...headers },
  })
}
