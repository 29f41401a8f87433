import { type Authenticators, defineRoute, Problem, type RawRoute, type Route } from '@plainpath/http'
import type { Context } from 'koa'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { McpDeps } from './mcp-server.ts'
import { convertChallengeToResult } from './sign-in-challenge.ts'
import type { ToolRequest } from './tools.ts'

/*
 * The routes of the Model Context Protocol servers: stateless streamable HTTP with one message per request. A method other than
 * POST gets 405, because there is no session and no stream to open. At the signed-in address, the token is checked first.
 */

const MESSAGE_ROUTE = {
  summary: 'The Model Context Protocol server',
  method: 'post',
  limits: LIMITS.reads,
  // Refuses an array, because a batch would make many calls under the limits of one request.
  request: { body: z.looseObject({}) },
  responses: { 200: z.string(), 202: null, 400: z.string(), 404: z.string(), 406: z.string() },
} as const

/**
 * Creates the route for agents. Its tools are as public as the corresponding routes.
 *
 * @param deps.allowedOrigins origins whose scripts may call the route, in addition to our own
 */
export function createMcpRoute(deps: McpDeps & { allowedOrigins: readonly string[] }): Route {
  const allowedOrigins = new Set([deps.urls.origin, ...deps.allowedOrigins])
  return defineRoute({
    ...MESSAGE_ROUTE,
    path: '/api/mcp',
    operationId: 'mcp',
    access: 'public',
    handle(input) {
      requireAllowedOrigin(input.request.header('origin'), allowedOrigins)
      return respond(input.body, input, deps)
    },
  })
}

/**
 * Creates the route at the public MCP address. It ignores `Authorization`. Scripts of any origin may call it, because it reads
 * only public data, and because the check of `Host` prevents DNS rebinding.
 */
export const createPublicMcpRoute = (deps: McpDeps): Route =>
  defineRoute({
    ...MESSAGE_ROUTE,
    path: '/mcp',
    operationId: 'publicMcp',
    access: 'open',
    handle: ({ body, request }) => respond(body, { request }, deps),
  })

const SIGNED_IN_PATH = '/mcp'
/** The scopes of app tokens. There is only one. */
const APP_SCOPES = ['contact:write'] as const

/**
 * Creates the routes at the signed-in MCP address. A POST, GET or DELETE without a valid token gets the challenge that starts the
 * sign-in. Scripts of any origin may call the routes, because only a token grants access, never a cookie.
 */
export const createSignedInMcpRoutes = (
  deps: McpDeps & { bearer: NonNullable<Authenticators['bearer']> },
): [Route, RawRoute] => [
  defineRoute({
    ...MESSAGE_ROUTE,
    path: SIGNED_IN_PATH,
    operationId: 'signedInMcp',
    access: { scopes: APP_SCOPES },
    onRefusedCaller: convertChallengeToResult,
    handle: (input) => respond(input.body, input, deps),
  }),
  {
    methods: ['GET', 'DELETE'],
    path: SIGNED_IN_PATH,
    limits: [...LIMITS.reads.address, ...LIMITS.reads.anonymous],
    async serve(ctx: Context) {
      await deps.bearer(ctx, APP_SCOPES)
      throw new Problem('method-not-allowed', { detail: 'Use POST here.', headers: { allow: 'POST' } })
    },
  },
]

async function respond(message: object, { request, caller }: ToolRequest, deps: McpDeps) {
  // Imported at the first message, because the MCP library takes 4 MB.
  const { handleMessage } = await import('./mcp-server.ts')
  const { status, ...text } = await handleMessage(message, { ...deps, request, caller })
  if (status === 202) return { status } as const
  // Each comparison narrows `status` to a literal type, which the route's response types require.
  if (status === 200) return { status, text } as const
  if (status === 400) return { status, text } as const
  if (status === 404) return { status, text } as const
  if (status === 406) return { status, text } as const
  throw new Error(`the MCP server responded with the unexpected status ${status}`)
}

/** Refuses other origins. Otherwise, a page whose host name resolves to this machine could call the server (DNS rebinding). */
function requireAllowedOrigin(origin: string, allowedOrigins: ReadonlySet<string>): void {
  if (origin !== '' && !allowedOrigins.has(origin)) throw new Problem('cross-site-request')
}
