import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { formatCount, formatHelpLine, Help } from '@plainpath/domain'
import { createProblemDocument, getProblemKind, Problem, parseInput } from '@plainpath/http'
import { MCP_TOOLS, type McpTool, type McpToolName, type ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import type { ToolCall, ToolOutput, ToolRequest, Tools } from './tools.ts'

/** Registers the tools with the server that responds to a request. */
export type RegisterTools = (server: McpServer, context: RequestContext) => void

/** The request to which the server responds, and what a call can do besides returning a result. */
interface RequestContext extends ToolRequest {
  /** Makes the HTTP response report `cause` instead of the tool's result. */
  fail(cause: unknown): void
  /** Returns the `requestState` of a form that asks about these triggers. */
  writeState(askedTriggers: readonly string[]): string
}

/** The part of a request's envelope in which the client declares whether it can show forms. */
const Envelope = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial().optional(),
  }),
})

/** The key of the form in `inputRequests` and `inputResponses`. A call has at most one form. */
const FORM_KEY = 'check'

interface ToolResult {
  readonly [member: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

/**
 * Creates the function that registers tools as the server card lists them.
 *
 * @param names the tools of one MCP address
 */
export const createToolRegistrar =
  (tools: Tools, names: readonly McpToolName[], urls: ServiceUrls): RegisterTools =>
  (server, requestContext) => {
    const callTool = async (
      name: McpToolName,
      args: unknown,
      { mcpReq }: ServerContext,
    ): Promise<ToolResult | InputRequiredResult> => {
      try {
        // The type of `tools[name]` cannot express that its input is what its schema returns.
        const input = parseInput(MCP_TOOLS[name].inputSchema, 'body', args) as never
        const output = await tools[name](input, { ...requestContext, ...readFormSupport(mcpReq) })
        if (!('form' in output)) return createToolResult(MCP_TOOLS[name], output)
        const { params, askedTriggers } = output.form
        return inputRequired({
          inputRequests: { [FORM_KEY]: inputRequired.elicit(params) },
          requestState: requestContext.writeState(askedTriggers),
        })
      } catch (thrown) {
        const text = thrown instanceof Problem && describeForModel(thrown, requestContext, urls)
        if (text) return createToolError(text)
        requestContext.fail(thrown)
        return createToolError('The tool failed.')
      }
    }
    for (const name of names) {
      const tool: McpTool = MCP_TOOLS[name]
      const inputSchema = skipValidation(tool.inputSchema)
      server.registerTool(name, { ...tool, inputSchema }, (args, context) => callTool(name, args, context))
    }
  }

/** Keeps the SDK from validating the arguments, because its errors have no code and other texts than those of the routes. */
const skipValidation = (schema: McpTool['inputSchema']) => ({
  '~standard': { ...schema['~standard'], validate: (value: unknown) => ({ value }) },
})

/**
 * Reads whether the client can show forms, and the form that it sent back. Both need revision 2026-07-28, in which clients
 * declare their capabilities with each request and send a form back in the next request. In earlier revisions, a form needs a
 * session, which this server does not have.
 */
function readFormSupport(mcpReq: ServerContext['mcpReq']): Pick<ToolCall, 'canShowForms' | 'returnedForm'> {
  const { data } = Envelope.safeParse(mcpReq.envelope)
  const elicitation = data?.[CLIENT_CAPABILITIES_META_KEY].elicitation
  // A capability without modes means forms.
  const canShowForms =
    elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  // The server has verified the state before it calls a tool.
  const askedTriggers = mcpReq.requestState<readonly string[]>()
  return {
    canShowForms,
    returnedForm: askedTriggers && { askedTriggers, response: mcpReq.inputResponses?.[FORM_KEY] },
  }
}

/** Creates the result of a tool, without members that the schema does not list. */
function createToolResult(tool: McpTool, { value, text }: ToolOutput): ToolResult {
  const structuredContent = tool.outputSchema.parse(value)
  return { content: [{ type: 'text', text: text ?? JSON.stringify(structuredContent) }], structuredContent }
}

/**
 * The statuses to which a model can react: with other arguments, later, or by informing the person. `describeForModel` has the
 * exceptions.
 */
const MODEL_STATUSES = new Set([400, 404, 409, 410, 429])

/** The member of a problem that has help for the person, such as `answers-paused`. */
const WithHelp = z.object({ findHelp: z.array(Help) })

/**
 * Describes a problem for the model that called the tool. Returns undefined for a problem that becomes an HTTP response, as on
 * the routes.
 *
 * A missing scope is a special case. An HTTP challenge helps only a client whose token is for a verified person, because that
 * client can get the scope by another token request. For any other client, a person has to verify an e-mail address first, so its
 * model reads a description of the problem instead.
 *
 * A problem with help for the person is another special case. Apps show people no HTTP error, so the help would not reach them.
 */
function describeForModel(problem: Problem, { caller }: ToolRequest, { origin }: ServiceUrls) {
  const document = createProblemDocument(problem, { origin, path: '', requestId: '' })
  const { status, detail, code, errors } = document
  const findHelp = WithHelp.safeParse(document).data?.findHelp
  const cannotGetScope = code === 'insufficient-scope' && caller?.registrationId === undefined
  if (!cannotGetScope && !findHelp && !MODEL_STATUSES.has(status)) return undefined
  const lines = findHelp
    ? describeHelp(problem, findHelp)
    : (errors?.map((mistake) => `${mistake.pointer}: ${mistake.detail}.`) ?? [detail])
  return `${lines.join('\n')} (${code})`
}

/** Describes a problem with help. The remedy is left out, because it names `findHelp` and a header, which a model does not see. */
function describeHelp({ code, options }: Problem, findHelp: readonly Help[]): string[] {
  const retryAfter = options.headers?.['retry-after']
  return [
    getProblemKind(code).meaning,
    'Get help:',
    ...findHelp.map((help) => `- ${formatHelpLine(help)}`),
    ...(retryAfter ? [`Try again in ${formatCount(Number(retryAfter), 'second')}.`] : []),
  ]
}

const createToolError = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true })
