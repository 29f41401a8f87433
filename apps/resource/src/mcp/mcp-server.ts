import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { createMcpServerInfo, type McpEndpoint, type ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import type { RegisterTools } from './register-tools.ts'
import type { FormCall, RequestStates } from './request-state.ts'
import type { ToolRequest } from './tools.ts'

/** The dependencies of the MCP server at one address. */
export interface McpDeps {
  readonly urls: ServiceUrls
  readonly endpoint: McpEndpoint
  /** Imports the module of `RegisterTools` at the first call, because the MCP library takes 4 MB. */
  readonly loadRegisterTools: () => Promise<RegisterTools>
  readonly requestStates: RequestStates
}

/** The request headers that are passed on, because they negotiate the protocol revision. */
const FORWARDED_HEADERS = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Clients may cache the description and tools of a server, which are the same for everybody and change only with a release. */
const CACHE_HINT = { ttlMs: 300_000, cacheScope: 'public' } as const

/**
 * Handles a message. The response is JSON for revision 2026-07-28, and a stream with one event for revisions of 2025. The server
 * stores nothing between two messages.
 *
 * @throws the cause that a tool passed to `fail`
 */
export async function handleMessage(
  message: object,
  { urls, endpoint, loadRegisterTools, requestStates, request, caller }: ToolRequest & McpDeps,
): Promise<{ status: number; type: string; content: string }> {
  let failure: { readonly cause: unknown } | undefined
  const fail = (cause: unknown) => {
    failure = { cause }
  }
  const describeCall = (): FormCall => ({ address: endpoint.address, caller, ...readToolCall(message) })
  const registerTools = await loadRegisterTools()
  const createServer = () => {
    const server = new McpServer(createMcpServerInfo(urls), {
      capabilities: endpoint.capabilities,
      instructions: endpoint.instructions,
      cacheHints: { 'server/discover': CACHE_HINT, 'tools/list': CACHE_HINT },
      requestState: { verify: (state) => requestStates.read(state, describeCall()) },
    })
    const writeState = (askedTriggers: readonly string[]) =>
      requestStates.write(askedTriggers, describeCall())
    registerTools(server, { request, caller, fail, writeState })
    return server
  }
  const handler = createMcpHandler(createServer, {
    // No subscriptions, because everything to which clients could subscribe changes only with a release.
    maxSubscriptions: 0,
    // No keep-alive comments, because each response is read to its end before it is sent.
    keepAliveMs: 0,
  })
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const name of FORWARDED_HEADERS) if (request.header(name)) headers.set(name, request.header(name))
  const forwardedRequest = new Request(endpoint.address, { method: 'POST', headers })
  const response = await handler.fetch(forwardedRequest, { parsedBody: message })
  const content = await response.text()
  if (failure) throw failure.cause
  return { status: response.status, type: response.headers.get('content-type') ?? '', content }
}

const ToolCall = z.looseObject({ params: z.looseObject({ name: z.string(), arguments: z.unknown() }) })

/** Reads the tool name and arguments of a call. Throws for a message that is not a tool call, because it cannot have a state. */
function readToolCall(message: object): Pick<FormCall, 'tool' | 'arguments'> {
  const { params } = ToolCall.parse(message)
  return { tool: params.name, arguments: params.arguments }
}
