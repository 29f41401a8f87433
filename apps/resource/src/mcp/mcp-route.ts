import { defineRoute, Problem, type Route } from '@plainpath/http'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { mcpTools, type ToolDeps } from './tools.ts'

export interface McpDeps extends ToolDeps {
  /** Origins whose scripts may call, beside our own. */
  readonly allowedOrigins: readonly string[]
}

/**
 * The Model Context Protocol server: stateless streamable HTTP, one message a request. Public like the routes that do
 * the same; other methods than POST are 405, which tells clients that there is no session and no stream to open.
 */
export function mcpRoute(deps: McpDeps): Route {
  const tools = mcpTools(deps)
  const allowedOrigins = new Set([deps.urls.origin, ...deps.allowedOrigins])
  return defineRoute({
    method: 'post',
    path: '/api/mcp',
    operationId: 'mcp',
    summary: 'The Model Context Protocol server',
    access: 'public',
    limits: LIMITS.reads,
    // A list of messages would be many calls under the limits of one.
    request: { body: z.looseObject({}) },
    responses: { 200: z.string(), 202: null, 400: z.string(), 404: z.string(), 406: z.string() },
    async handle({ body, request }) {
      requireOrigin(request.header('origin'), allowedOrigins)
      const { answerMessage } = await import('./mcp-server.ts')
      const { status, ...text } = await answerMessage(body, { urls: deps.urls, tools, request })
      switch (status) {
        case 200:
          return { status: 200, text }
        case 202:
          return { status: 202 }
        case 400:
          return { status: 400, text }
        case 404:
          return { status: 404, text }
        case 406:
          return { status: 406, text }
        default:
          throw new Error(`the MCP server answered ${status}`)
      }
    },
  })
}

/** Else a page that makes its own name point at this machine could call it (DNS rebinding). */
function requireOrigin(sent: string, allowed: ReadonlySet<string>): void {
  if (sent !== '' && !allowed.has(sent)) throw new Problem('cross-site-request')
}
