import { defineRoute, Problem, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { RegisterTools } from './register-tools.ts'

/**
 * The Model Context Protocol server: stateless streamable HTTP, one message a request. Public like the routes that do
 * the same; other methods than POST are 405, which tells clients that there is no session and no stream to open.
 */
export function mcpRoute({
  urls,
  registerTools,
  ...deps
}: {
  urls: ServiceUrls
  registerTools: RegisterTools
  /** Origins whose scripts may call, beside our own. */
  allowedOrigins: readonly string[]
}): Route {
  const allowedOrigins = new Set([urls.origin, ...deps.allowedOrigins])
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
    async handle({ body, request, caller }) {
      requireOrigin(request.header('origin'), allowedOrigins)
      const { answerMessage } = await import('./mcp-server.ts')
      const { status, ...text } = await answerMessage(body, { urls, registerTools, request, caller })
      if (status === 202) return { status }
      // One by one, as each status has its own type.
      if (status === 200) return { status, text }
      if (status === 400) return { status, text }
      if (status === 404) return { status, text }
      if (status === 406) return { status, text }
      throw new Error(`the MCP server answered ${status}`)
    },
  })
}

/** Else a page that makes its own name point at this machine could call it (DNS rebinding). */
function requireOrigin(sent: string, allowed: ReadonlySet<string>): void {
  if (sent !== '' && !allowed.has(sent)) throw new Problem('cross-site-request')
}
