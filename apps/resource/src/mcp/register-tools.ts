import type { McpServer } from '@modelcontextprotocol/server'
import { Problem, problemDocument } from '@plainpath/http'
import { MCP_TOOLS, type McpTool, type McpToolName, type ServiceUrls } from '@plainpath/metadata'
import type { ToolOutput, ToolRequest, Tools } from './tools.ts'

/** Adds the tools to the server that responds to one request. */
export type RegisterTools = (server: McpServer, call: ToolCall) => void

/** The request, and how its tool reports what the HTTP response has to say instead of a tool result. */
interface ToolCall extends ToolRequest {
  fail(cause: unknown): void
}

interface ToolResult {
  readonly [member: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

/** Registers the tools that the server card lists. */
export const registerTools =
  (tools: Tools, urls: ServiceUrls): RegisterTools =>
  (server, call) => {
    const run = async (name: McpToolName, args: never): Promise<ToolResult> => {
      try {
        return toolResult(MCP_TOOLS[name], await tools[name](args, call))
      } catch (thrown) {
        const text = thrown instanceof Problem && textForTheModel(thrown, call, urls)
        if (text) return toolError(text)
        call.fail(thrown)
        return toolError('The tool failed.')
      }
    }
    for (const [name, tool] of Object.entries<McpTool>(MCP_TOOLS)) {
      server.registerTool(name, tool, (args) => run(name as McpToolName, args as never))
    }
  }

/** Omits the members that the schema does not list. */
function toolResult(tool: McpTool, { value, text }: ToolOutput): ToolResult {
  const structuredContent = tool.outputSchema.parse(value)
  return { content: [{ type: 'text', text: text ?? JSON.stringify(structuredContent) }], structuredContent }
}

/** Statuses that the model can act on, by other arguments or by telling the person. All others are HTTP responses. */
const STATUSES_FOR_THE_MODEL = new Set([400, 404, 409, 410])

/**
 * Describes a problem for the model that called the tool. Returns undefined for a problem that becomes an HTTP response, as on
 * the routes.
 *
 * A challenge for a scope helps only a client that can get the scope by another token request: one whose token has a
 * registration behind it, and was narrowed. Client credentials never give the scope, so their clients would try in vain.
 */
function textForTheModel(problem: Problem, { caller }: ToolRequest, { origin }: ServiceUrls) {
  const { status, detail, code } = problemDocument(problem, { origin, path: '', requestId: '' })
  const lacksScope = code === 'insufficient-scope' && caller?.registrationId === undefined
  return lacksScope || STATUSES_FOR_THE_MODEL.has(status) ? `${detail} (${code})` : undefined
}

const toolError = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true })
