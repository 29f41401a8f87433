import {
  type AppOptions,
  type Authenticators,
  createApp,
  createFastPath,
  type ErrorFormat,
  type FastPathOptions,
  type Limiter,
  type Log,
  listAcceptedHosts,
  type Metrics,
  mountRoutes,
  type RawRoute,
  type RequestHandler,
  type Route,
  type WatchedClock,
} from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { PAGE_CSP } from '@plainpath/pages'
import { isUnavailable } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import type { Middleware } from 'koa'
import { AuthorizationServerFailure } from './auth/introspection.ts'
import { refuseTokenInQuery } from './auth/refuse-token-in-query.ts'
import { UsedProofsUnavailable } from './auth/used-proofs.ts'
import type { Config } from './config.ts'
import type { GuideCatalog } from './guides/guide-catalog.ts'
import { LIMITS } from './limits.ts'
import { renderErrorPage } from './pages/error-page.ts'

/**
 * Creates the handler of the public listener: the fast path for GETs that this process can serve from memory, then the Koa app
 * with `routes`. If the settings name a public MCP origin, a separate app serves its host. `wire.ts` passes in the routes and
 * everything that needs a connection.
 */
export function createPublicHandler(deps: {
  readonly config: Pick<
    Config,
    'origin' | 'mcpPublicOrigin' | 'trustedProxies' | 'corsOrigins' | 'additionalHosts'
  >
  readonly urls: ServiceUrls
  /** The guides that the "Page not found" page lists. */
  readonly guides: { current(): GuideCatalog }
  readonly routes: readonly (Route | RawRoute)[]
  /** The routes of the public MCP origin; unused if the settings name none. */
  readonly publicMcpRoutes: readonly Route[]
  readonly limiter: Limiter
  /** Finds responses and callers in memory, for the fast path. */
  readonly fastPathOptions: Pick<FastPathOptions, 'find' | 'findCachedCaller'>
  readonly authenticators: Authenticators
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly clock: WatchedClock
  readonly log: Log
}): RequestHandler {
  const { config, urls, guides, limiter, authenticators, metrics, tracing, clock, log } = deps
  const baseOptions = {
    ...config,
    log,
    onResponse: metrics.countResponse,
    traces: tracing && { tracing, trustedSenders: config.trustedProxies },
  }
  const appOptions = {
    ...baseOptions,
    clock,
    csp: PAGE_CSP,
    isUnavailable: (thrown: unknown) =>
      thrown instanceof AuthorizationServerFailure ||
      thrown instanceof UsedProofsUnavailable ||
      isUnavailable(thrown),
  }
  const app = createApp({
    ...appOptions,
    chooseErrorFormat,
    renderPage: (problem) => renderErrorPage({ origin: config.origin, guides }, problem),
    browsers: {
      additionalHosts: config.additionalHosts,
      allowedOrigins: config.corsOrigins,
      // Scripts of any origin may read, for the same reason as they may POST to `PUBLIC_POST_PATHS`.
      isPublicGet: () => true,
      isPublicPost: (path) => PUBLIC_POST_PATHS.has(path),
    },
  })
  app.use(refuseTokenInQuery(urls))
  const mountDependencies = { limiter, authenticators, unmatchedLimits: LIMITS.pages.address }
  app.use(mountRoutes(deps.routes, mountDependencies))
  const { mcpPublicOrigin } = config
  const handler = mcpPublicOrigin
    ? createHostSwitch({
        hosts: listAcceptedHosts(mcpPublicOrigin),
        handler: createPublicMcpHandler(
          appOptions,
          mcpPublicOrigin,
          mountRoutes(deps.publicMcpRoutes, mountDependencies),
        ),
        defaultHandler: app.callback(),
      })
    : app.callback()
  return createFastPath(handler, { ...baseOptions, ...deps.fastPathOptions, limiter })
}

/**
 * Creates a handler that passes each request to one of two handlers, by its `Host` header. Both handlers check the header again.
 */
const createHostSwitch =
  (options: {
    hosts: ReadonlySet<string>
    handler: RequestHandler
    defaultHandler: RequestHandler
  }): RequestHandler =>
  (request, response) =>
    options.hosts.has(request.headers.host?.toLowerCase() ?? '')
      ? options.handler(request, response)
      : options.defaultHandler(request, response)

/**
 * Creates the handler for the origin of the public MCP server. Any path without a route gets a plain-text 404. This matters most
 * for OAuth and OpenID metadata: a chat app that finds such metadata requires the person to sign in.
 */
function createPublicMcpHandler(
  appOptions: Omit<AppOptions, 'chooseErrorFormat'>,
  servedOrigin: string,
  routes: Middleware,
): RequestHandler {
  const app = createApp({
    ...appOptions,
    chooseErrorFormat: () => 'oauth',
    browsers: {
      servedOrigin,
      additionalHosts: [],
      allowedOrigins: [],
      isPublicGet: () => true,
      isPublicPost: () => true,
    },
  })
  app.use(routes)
  app.use((ctx) => {
    ctx.status = 404
    ctx.type = 'text/plain'
    ctx.body = `There is nothing here. The MCP server is at ${servedOrigin}/mcp\n`
  })
  return app.callback()
}

const MCP_PATH = '/mcp'
/** Paths to which scripts of any origin may POST. The app reads no cookies, so only a token grants access. */
const PUBLIC_POST_PATHS: ReadonlySet<string> = new Set([operations.answerQuestion.path, MCP_PATH])

/** Chooses the error format by path. API paths return JSON even to browsers. At `/mcp`, chat apps expect OAuth errors. */
function chooseErrorFormat(path: string): ErrorFormat {
  if (path === MCP_PATH) return 'oauth'
  return /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path) ? 'problem' : 'page'
}
