import { readFileSync } from 'node:fs'
import type { AgentDocuments } from '@plainpath/auth/agent-documents'
import { loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { openAuth } from '@plainpath/auth/wire'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { combineApps } from '@plainpath/local/combine-apps'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { openResource } from '@plainpath/resource/wire'
import { openSystemEnvironment } from '../system-environment.ts'

/** Both apps, which run in this process, and the addresses at which tests reach them. */
export interface System extends AsyncDisposable {
  readonly origin: string
  /** The origin of the public MCP server. It has its own port with the option `publicMcp`, and is `origin` otherwise. */
  readonly mcpPublicOrigin: string
  /** Database URLs with which tests read and change the rows of both apps. */
  readonly adminUrls: { readonly auth: string; readonly resource: string }
  /** The URL of the internal listener of auth. */
  readonly internalUrl: string
  /** The header with which the API authenticates at the internal listener of auth. */
  readonly apiCredentialHeader: { readonly authorization: string }
  /** Every method and path of the public listeners of both apps. */
  readonly publicEndpoints: readonly { readonly method: string; readonly path: string }[]
  /** Every log line of both apps. */
  readonly logged: readonly string[]
}

export interface SystemOptions {
  /** Multiplies the quotas of all limits; by default see `openSystemEnvironment`. */
  readonly limitsFactor?: number
  /** True if the MCP server also has its public address. */
  readonly publicMcp?: boolean
  /** The server with the documents of clients whose id is a URL. */
  readonly documents?: Pick<AgentDocuments, 'settings' | 'documentOverrides'>
  /** Settings that replace or extend the settings of every test. */
  readonly env?: Readonly<Record<string, string>>
  /** Returns the URL at which the API reaches the database of the given URL, such as the URL of a fault proxy. */
  readonly redirectDatabase?: (url: string) => Promise<string>
  /** Uses the production timeouts for PostgreSQL. By default they are five times as long, for a busy machine. */
  readonly useProductionTimeouts?: boolean
}

/** Starts both apps in this process on one origin at a free port, with real HTTP and new databases. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  await using opening = new AsyncDisposableStack()
  const logged: string[] = []
  const sharedDependencies = {
    // Also logs the reads that production logs omit.
    log: {
      ...createLog({ service: 'e2e', write: (line) => logged.push(line) }),
      logsEveryRead: true as const,
    },
    now: () => new Date(),
  }
  // The server listens before the apps open, because their settings contain its port.
  let handler: RequestHandler = (_request, response) => response.writeHead(503).end()
  const server = opening.use(
    await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
  )
  const origin = `http://localhost:${server.port}`
  let resourceHandler: RequestHandler = handler
  const publicServer = options.publicMcp
    ? opening.use(await serve((request, response) => resourceHandler(request, response), TEST_SERVER_OPTIONS))
    : server
  const mcpPublicOrigin = `http://localhost:${publicServer.port}`
  const system = opening.use(await openSystemEnvironment(origin, options.limitsFactor))
  const databaseUrl = system.env['RESOURCE_DATABASE_URL'] ?? ''
  const RESOURCE_DATABASE_URL = (await options.redirectDatabase?.(databaseUrl)) ?? databaseUrl
  const env = {
    ...system.env,
    RESOURCE_DATABASE_URL,
    ...(options.publicMcp && { RESOURCE_MCP_PUBLIC_ORIGIN: mcpPublicOrigin }),
    ...options.documents?.settings,
    ...options.env,
  }
  const deps = {
    ...sharedDependencies,
    ...system.dependencies,
    ...(options.useProductionTimeouts && { databasePatience: 1 }),
  }
  const documents = options.documents?.documentOverrides ?? {}
  const auth = opening.use(await openAuth(loadAuthConfig(env), { ...deps, documents }))
  const internal = opening.use(await serve(auth.internalApp.callback(), TEST_SERVER_OPTIONS))
  const resourceConfig = loadResourceConfig({ ...env, RESOURCE_AUTH_URL: internal.url })
  const resource = opening.use(await openResource(resourceConfig, deps))
  resourceHandler = resource.handler
  handler = combineApps({ auth: auth.publicApp.callback(), resource: resource.handler })
  const secret = readFileSync(system.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8').trim()
  const credentials = Buffer.from(`${system.env['RESOURCE_CLIENT_ID']}:${secret}`)
  const resources = opening.move()
  return {
    origin,
    mcpPublicOrigin,
    internalUrl: internal.url,
    apiCredentialHeader: { authorization: `Basic ${credentials.toString('base64')}` },
    logged,
    publicEndpoints: [...auth.publicEndpoints, ...resource.publicEndpoints],
    adminUrls: system.adminUrls,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
