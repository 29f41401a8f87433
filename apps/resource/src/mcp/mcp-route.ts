import { defineRoute, Problem, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { RegisterTools } from './register-tools.ts'

/**
 * Creates the route of the Model Context Protocol server: stateless streamable HTTP with one message per request. It is as
 * public as the routes with the same functions. Methods other than POST get 405: there is no session and no stream to open.
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
    // No arrays: a batch would make many calls under the limits of one request.
    request: { body: z.looseObject({}) },
    responses: { 200: z.string(), 202: null, 400: z.string(), 404: z.string(), 406: z.string() },
    async handle({ body, request, caller }) {
      requireOrigin(request.header('origin'), allowedOrigins)
      const { handleMessage } = await import('./mcp-server.ts')
      const { status, ...text } = await handleMessage(body, { urls, registerTools, request, caller })
      if (status === 202) return { status }
      // One line per status, because each has its own type.
      if (status === 200) return { status, text }
      if (status === 400) return { status, text }
      if (status === 404) return { status, text }
      if (status === 406) return { status, text }
      throw new Error(`the MCP server answered ${status}`)
    },
  })
}

/** Refuses other origins. Otherwise a page whose host name resolves to this machine could call it (DNS rebinding). */
function requireOrigin(sent: string, allowed: ReadonlySet<string>): void {
  if (sent !== '' && !allowed.has(sent)) throw new Problem('cross-site-request')
}
