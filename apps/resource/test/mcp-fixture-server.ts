import {
  createApp,
  createLimiter,
  createLog,
  createMemoryLimitStore,
  mountRoutes,
  parseTrustedProxies,
  serve,
} from '@plainpath/http'
import { createMcpEndpoints, createServiceUrls } from '@plainpath/metadata'
import { generateHashKey, parseHashKey } from '@plainpath/sealing'
import { z } from 'zod'
import { createMcpRoute } from '../src/mcp/mcp-route.ts'
import type { RegisterTools } from '../src/mcp/register-tools.ts'
import { createRequestStates } from '../src/mcp/request-state.ts'

/** A PNG image of one pixel. */
const IMAGE = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
} as const
/** A WAV file without samples. */
const AUDIO = {
  type: 'audio',
  mimeType: 'audio/wav',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=',
} as const
const createResource = (uri: string, mimeType: string, text: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text } }) as const
const createText = (text: string) => ({ type: 'text', text }) as const

const Address = z.object({ street: z.string(), city: z.string() }).partial().meta({ id: 'address' })

/** Registers the tools that the official conformance runner calls. Its scenarios prescribe their names and contents. */
const registerFixtures: RegisterTools = (server) => {
  const results = {
    test_simple_text: [createText('This is a simple text response for testing.')],
    test_image_content: [IMAGE],
    test_audio_content: [AUDIO],
    test_embedded_resource: [
      createResource('test://embedded-resource', 'text/plain', 'An embedded resource.'),
    ],
    test_multiple_content_types: [
      createText('Multiple content types test:'),
      IMAGE,
      createResource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }
  for (const [name, content] of Object.entries(results))
    server.registerTool(name, { description: `Returns ${name}.`, inputSchema: z.strictObject({}) }, () => ({
      content,
    }))
  server.registerTool('test_error_handling', { description: 'Always fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool('test_tool_with_progress', { description: 'Reports progress.' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      })
    return { content: [createText('Done.')] }
  })
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Has a schema with definitions.',
      inputSchema: z.strictObject({ name: z.string().optional(), address: Address.optional() }),
    },
    () => ({ content: [createText('Done.')] }),
  )
}

/**
 * Starts a server with the MCP route of agents and with tools for e2e/system/mcp-conformance.test.ts. It has no
 * database, accepts no tokens and discards its log. Returns the URL of the endpoint.
 */
export async function startMcpFixtureServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const log = createLog({ service: 'test', write: () => undefined })
  const now = () => new Date()
  // The handler is created below, because its URLs contain the port of the server.
  const server = await serve((request, response) => handler(request, response), {
    port: 0,
    host: '127.0.0.1',
    drainSeconds: 0,
  })
  const urls = createServiceUrls(`http://localhost:${server.port}`)
  const app = createApp({
    log,
    origin: urls.origin,
    trustedProxies: parseTrustedProxies(''),
    csp: '',
    chooseErrorFormat: () => 'problem',
    clock: { requireSynchronised: () => undefined },
    browsers: { additionalHosts: [], allowedOrigins: [], isPublicGet: () => true },
  })
  const route = createMcpRoute({
    urls,
    endpoint: createMcpEndpoints(urls).agents,
    loadRegisterTools: async () => registerFixtures,
    requestStates: createRequestStates({ hashKey: parseHashKey(generateHashKey()), now }),
    allowedOrigins: [],
  })
  const limiter = createLimiter({ store: createMemoryLimitStore(now), factor: 1, now, log })
  app.use(mountRoutes([route], { limiter, authenticators: {} }))
  const handler = app.callback()
  return { url: urls.mcp, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
