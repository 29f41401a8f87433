import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { type McpEndpoint, mcpServerInfo, type ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import type { RegisterTools } from './register-tools.ts'
import type { FormCall, RequestStates } from './request-state.ts'
import type { ToolRequest } from './tools.ts'

/** What the server needs, at whichever address. */
export interface McpDeps {
  readonly urls: ServiceUrls
  readonly endpoint: McpEndpoint
  readonly registerTools: RegisterTools
  readonly requestStates: RequestStates
}

/** The headers by which a client and the server negotiate a revision. No other header is passed on. */
const HEADERS = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** The lists of tools are the same for everybody and change only with a release. */
const CACHED = { ttlMs: 300_000, cacheScope: 'public' } as const

/**
 * Handles one message. The response is JSON for revision 2026-07-28, and a stream with one event for clients of 2025. There is no
 * session: nothing is kept from one message to the next.
 *
 * @throws the cause that a tool passed to `fail`
 */
export async function handleMessage(
  message: object,
  { urls, endpoint, registerTools, requestStates, request, caller }: ToolRequest & McpDeps,
): Promise<{ status: number; type: string; content: string }> {
  let failure: { readonly cause: unknown } | undefined
  const fail = (cause: unknown) => {
    failure = { cause }
  }
  const formCall = (): FormCall => ({ address: endpoint.address, caller, ...calledTool(message) })
  const server = () => {
    const created = new McpServer(mcpServerInfo(urls), {
      capabilities: endpoint.capabilities,
      instructions: endpoint.instructions,
      cacheHints: { 'server/discover': CACHED, 'tools/list': CACHED },
      requestState: { verify: (state) => requestStates.read(state, formCall()) },
    })
    const writeState = (asked: readonly string[]) => requestStates.write(asked, formCall())
    registerTools(created, { request, caller, fail, writeState })
    return created
  }
  const handler = createMcpHandler(server, {
    // Nothing that clients could subscribe to ever changes.
    maxSubscriptions: 0,
    keepAliveMs: 0,
  })
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const name of HEADERS) if (request.header(name)) headers.set(name, request.header(name))
  const sent = new Request(endpoint.address, { method: 'POST', headers })
  const response = await handler.fetch(sent, { parsedBody: message })
  const content = await response.text()
  if (failure) throw failure.cause
  return { status: response.status, type: response.headers.get('content-type') ?? '', content }
}

const ToolCall = z.looseObject({ params: z.looseObject({ name: z.string(), arguments: z.unknown() }) })

/** Reads which tool a message calls, and with what. A message that calls none has no state to read or write. */
function calledTool(message: object): Pick<FormCall, 'tool' | 'arguments'> {
  const { params } = ToolCall.parse(message)
  return { tool: params.name, arguments: params.arguments }
}
