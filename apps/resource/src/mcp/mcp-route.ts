import { type Authenticators, defineRoute, Problem, type RawRoute, type Route } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { McpDeps } from './mcp-server.ts'
import { challengeAsResult } from './sign-in-challenge.ts'
import type { ToolRequest } from './tools.ts'

/*
 * The routes of the Model Context Protocol server: stateless streamable HTTP with one message per request. Methods other than
 * POST get 405: there is no session and no stream to open.
 */

const MESSAGES = {
  summary: 'The Model Context Protocol server',
  method: 'post',
  limits: LIMITS.reads,
  // No arrays: a batch would make many calls under the limits of one request.
  request: { body: z.looseObject({}) },
  responses: { 200: z.string(), 202: null, 400: z.string(), 404: z.string(), 406: z.string() },
} as const

/**
 * Creates the route for agents, which is as public as the routes with the same functions.
 *
 * @param deps.allowedOrigins origins whose scripts may call, beside our own
 */
export function mcpRoute(deps: McpDeps & { allowedOrigins: readonly string[] }): Route {
  const allowedOrigins = new Set([deps.urls.origin, ...deps.allowedOrigins])
  return defineRoute({
    ...MESSAGES,
    path: '/api/mcp',
    operationId: 'mcp',
    access: 'public',
    handle(input) {
      requireOrigin(input.request.header('origin'), allowedOrigins)
      return respond(input.body, input, deps)
    },
  })
}

/**
 * Creates the route at the public address, which ignores `Authorization`. Scripts of any origin may call: it only reads what
 * everybody may read, and the check of `Host` keeps out DNS rebinding.
 */
export const publicMcpRoute = (deps: McpDeps): Route =>
  defineRoute({
    ...MESSAGES,
    path: '/mcp',
    operationId: 'publicMcp',
    access: 'open',
    handle: ({ body, request }) => respond(body, { request }, deps),
  })

const SIGNED_IN = '/mcp'
/** The one scope of the tokens of apps. */
const SCOPES = ['contact:write'] as const

/**
 * Creates the routes at the signed-in address. Every request without a valid token gets the challenge that starts the sign-in,
 * whatever its method and message. Scripts of any origin may call, since no cookie counts, only a token.
 */
export const signedInMcpRoutes = (
  deps: McpDeps & { bearer: NonNullable<Authenticators['bearer']> },
): [Route, RawRoute] => [
  defineRoute({
    ...MESSAGES,
    path: SIGNED_IN,
    operationId: 'signedInMcp',
    access: { scopes: SCOPES },
    onRefusedCaller: challengeAsResult,
    handle: (input) => respond(input.body, input, deps),
  }),
  {
    methods: ['GET', 'DELETE'],
    path: SIGNED_IN,
    limits: [...LIMITS.reads.address, ...LIMITS.reads.anonymous],
    async serve(ctx: Context) {
      await deps.bearer(ctx, SCOPES)
      throw new Problem('method-not-allowed', { detail: 'Use POST here.', headers: { allow: 'POST' } })
    },
  },
]

async function respond(message: object, { request, caller }: ToolRequest, deps: McpDeps) {
  const { handleMessage } = await import('./mcp-server.ts')
  const { status, ...text } = await handleMessage(message, { ...deps, request, caller })
  if (status === 202) return { status } as const
  // One line per status, because each has its own type.
  if (status === 200) return { status, text } as const
  if (status === 400) return { status, text } as const
  if (status === 404) return { status, text } as const
  if (status === 406) return { status, text } as const
  throw new Error(`the MCP server answered ${status}`)
}

/** Refuses other origins. Otherwise a page whose host name resolves to this machine could call it (DNS rebinding). */
function requireOrigin(sent: string, allowed: ReadonlySet<string>): void {
  if (sent !== '' && !allowed.has(sent)) throw new Problem('cross-site-request')
}
