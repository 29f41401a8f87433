import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { Problem, problemDocument, type RequestFacts } from '@plainpath/http'
import {
  MCP_CAPABILITIES,
  MCP_TOOLS,
  type McpTool,
  type McpToolName,
  mcpInstructions,
  mcpServerInfo,
  type ServiceUrls,
} from '@plainpath/metadata'
import type { ToolAnswer, Tools } from './tools.ts'

/** The headers by which a client and the server agree on a revision; no other one reaches the server. */
const HEADERS = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Catalogs are the same for everybody, and change with a release only. */
const CACHED = { ttlMs: 300_000, cacheScope: 'public' } as const

/** What a caller can mend by other arguments is told to the model; all else is an answer of HTTP, as on the routes. */
const MENDABLE = new Set([400, 404, 410])

/**
 * Answers one message: of revision 2026-07-28 by JSON, of a 2025-era client by a stream with one event. There is no
 * session; nothing is kept between two messages.
 *
 * @throws what a tool throws that other arguments would not mend
 */
export async function answerMessage(
  message: object,
  { urls, tools, request }: { urls: ServiceUrls; tools: Tools; request: RequestFacts },
): Promise<{ status: number; type: string; content: string }> {
  let failure: { readonly cause: unknown } | undefined
  const call = async (name: McpToolName, args: never) => {
    try {
      return toolResult(MCP_TOOLS[name], await tools[name](args, request))
    } catch (thrown) {
      const mendable = thrown instanceof Problem && mendableError(thrown, urls)
      if (mendable) return mendable
      failure = { cause: thrown }
      return toolError('The tool failed.')
    }
  }
  const handler = createMcpHandler(() => mcpServer(urls, call), {
    // Nothing here ever changes, so nobody can wait for it.
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

type CallTool = (name: McpToolName, args: never) => Promise<ToolResult>
interface ToolResult {
  readonly [member: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

function mcpServer(urls: ServiceUrls, call: CallTool): McpServer {
  const server = new McpServer(mcpServerInfo(urls), {
    capabilities: MCP_CAPABILITIES,
    instructions: mcpInstructions(urls),
    cacheHints: { 'server/discover': CACHED, 'tools/list': CACHED },
  })
  for (const [name, tool] of Object.entries<McpTool>(MCP_TOOLS)) {
    server.registerTool(name, tool, (args) => call(name as McpToolName, args as never))
  }
  return server
}

/** What the schema does not list does not leave the process. */
function toolResult(tool: McpTool, { value, text }: ToolAnswer): ToolResult {
  const structuredContent = tool.outputSchema.parse(value)
  return { content: [{ type: 'text', text: text ?? JSON.stringify(structuredContent) }], structuredContent }
}

function mendableError(problem: Problem, { origin }: ServiceUrls): ToolResult | undefined {
  const { status, detail, code } = problemDocument(problem, { origin, path: '', requestId: '' })
  return MENDABLE.has(status) ? toolError(`${detail} (${code})`) : undefined
}

const toolError = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true })
