import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { Problem, problemDocument } from '@plainpath/http'
import { MCP_TOOLS, type McpTool, type McpToolName, type ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import type { ToolCall, ToolOutput, ToolRequest, Tools } from './tools.ts'

/** Adds the tools to the server that responds to one request. */
export type RegisterTools = (server: McpServer, message: ToolMessage) => void

/** The request, and how its tool reports what the HTTP response has to say instead of a tool result. */
interface ToolMessage extends ToolRequest {
  fail(cause: unknown): void
  /** Returns the `requestState` of a form. @param asked the triggers whose questions the form has */
  writeState(asked: readonly string[]): string
}

const Envelope = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial().optional(),
  }),
})

/** The one form of a call, among its `inputRequests` and `inputResponses`. */
const FORM = 'check'

interface ToolResult {
  readonly [member: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

/** Registers tools as the server card lists them. @param names those of the address at which they are called */
export const registerTools =
  (tools: Tools, names: readonly McpToolName[], urls: ServiceUrls): RegisterTools =>
  (server, message) => {
    const run = async (
      name: McpToolName,
      args: never,
      { mcpReq }: ServerContext,
    ): Promise<ToolResult | InputRequiredResult> => {
      try {
        const output = await tools[name](args, { ...message, ...readForm(mcpReq) })
        if (!('form' in output)) return toolResult(MCP_TOOLS[name], output)
        const { params, asked } = output.form
        return inputRequired({
          inputRequests: { [FORM]: inputRequired.elicit(params) },
          requestState: message.writeState(asked),
        })
      } catch (thrown) {
        const text = thrown instanceof Problem && textForTheModel(thrown, message, urls)
        if (text) return toolError(text)
        message.fail(thrown)
        return toolError('The tool failed.')
      }
    }
    for (const name of names) {
      const tool: McpTool = MCP_TOOLS[name]
      server.registerTool(name, tool, (args, context) => run(name, args as never, context))
    }
  }

/**
 * Reads whether the client shows forms, and the form that it sent back. Only revision 2026-07-28 has both: its clients declare
 * what they can with each request, and answer a form in the next one. In earlier revisions a form needs a session.
 */
function readForm(mcpReq: ServerContext['mcpReq']): Pick<ToolCall, 'showsForms' | 'filledIn'> {
  const { data } = Envelope.safeParse(mcpReq.envelope)
  const elicitation = data?.[CLIENT_CAPABILITIES_META_KEY].elicitation
  // Without modes, the capability means forms.
  const showsForms =
    elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  // The server has verified the state before it calls a tool.
  const asked = mcpReq.requestState<readonly string[]>()
  return { showsForms, filledIn: asked && { asked, response: mcpReq.inputResponses?.[FORM] } }
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
