import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { MCP_CAPABILITIES, mcpInstructions, mcpServerInfo, type ServiceUrls } from '@plainpath/metadata'
import type { RegisterTools } from './register-tools.ts'
import type { ToolRequest } from './tools.ts'

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
  {
    urls,
    registerTools,
    request,
    caller,
  }: ToolRequest & { readonly urls: ServiceUrls; readonly registerTools: RegisterTools },
): Promise<{ status: number; type: string; content: string }> {
  let failure: { readonly cause: unknown } | undefined
  const fail = (cause: unknown) => {
    failure = { cause }
  }
  const server = () => {
    const created = new McpServer(mcpServerInfo(urls), {
      capabilities: MCP_CAPABILITIES,
      instructions: mcpInstructions(urls),
      cacheHints: { 'server/discover': CACHED, 'tools/list': CACHED },
    })
    registerTools(created, { request, caller, fail })
    return created
  }
  const handler = createMcpHandler(server, {
    // Nothing that clients could subscribe to ever changes.
    maxSubscriptions: 0,
    keepAliveMs: 0,
  })
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const name of HEADERS) if (request.header(name)) headers.set(name, request.header(name))
  const sent = new Request(urls.mcp, { method: 'POST', headers })
  const response = await handler.fetch(sent, { parsedBody: message })
  const content = await response.text()
  if (failure) throw failure.cause
  return { status: response.status, type: response.headers.get('content-type') ?? '', content }
}
