import {
  type AppOptions,
  type Authenticators,
  acceptedHosts,
  createApp,
  type ErrorForm,
  type FastPathOptions,
  fastPath,
  type Limiter,
  type Log,
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
import { refuseTokenInQuery } from './auth/bearer.ts'
import { AuthorizationServerFailure } from './auth/introspection.ts'
import { UsedProofsUnavailable } from './auth/used-proofs.ts'
import type { Config } from './config.ts'
import type { GuideCatalog } from './guides/guide-catalog.ts'
import { errorPage } from './pages/error-page.ts'

/**
 * Creates the handler of the public listener: the fast path for cached GETs, then the Koa app with all routes. Requests for the
 * host of the public MCP server go to an app of their own. It decides nothing about a single route, and opens no connection
 * (`wire.ts` does).
 */
export function publicHandler(deps: {
  readonly config: Pick<
    Config,
    'origin' | 'mcpPublicOrigin' | 'trustedProxies' | 'corsOrigins' | 'alsoAcceptHosts'
  >
  readonly urls: ServiceUrls
  /** What the page for a missing address offers. */
  readonly guides: { current(): GuideCatalog }
  readonly routes: readonly (Route | RawRoute)[]
  /** The routes on the origin of the public MCP server; used only if the settings name one. */
  readonly publicMcpRoutes: readonly Route[]
  readonly limiter: Limiter
  /** Finds responses that are served from memory, before Koa. */
  readonly fastPathOptions: Pick<FastPathOptions, 'find' | 'cachedCaller'>
  readonly authenticators: Authenticators
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly clock: WatchedClock
  readonly log: Log
}): RequestHandler {
  const { config, urls, guides, limiter, authenticators, metrics, tracing, clock, log } = deps
  const observed = {
    ...config,
    log,
    onResponse: metrics.countResponse,
    traces: tracing && { tracing, continues: config.trustedProxies },
  }
  const common = {
    ...observed,
    clock,
    csp: PAGE_CSP,
    isUnavailable: (thrown: unknown) =>
      thrown instanceof AuthorizationServerFailure ||
      thrown instanceof UsedProofsUnavailable ||
      isUnavailable(thrown),
  }
  const app = createApp({
    ...common,
    errorForm,
    page: (problem) => errorPage({ origin: config.origin, guides }, problem),
    browsers: {
      alsoAcceptHosts: config.alsoAcceptHosts,
      allowedOrigins: config.corsOrigins,
      isPublicGet: () => true,
      isPublicPost: (path) => PUBLIC_POSTS.has(path),
    },
  })
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, { limiter, authenticators }))
  const { mcpPublicOrigin } = config
  const handler = mcpPublicOrigin
    ? byHost({
        hosts: acceptedHosts(mcpPublicOrigin),
        handler: publicMcpApp(
          common,
          mcpPublicOrigin,
          mountRoutes(deps.publicMcpRoutes, { limiter, authenticators }),
        ),
        otherwise: app.callback(),
      })
    : app.callback()
  return fastPath(handler, { ...observed, ...deps.fastPathOptions, limiter })
}

/** Chooses a handler by the header `Host`. The handlers check it again, and with it the target of the request. */
const byHost =
  (choice: {
    hosts: ReadonlySet<string>
    handler: RequestHandler
    otherwise: RequestHandler
  }): RequestHandler =>
  (request, response) =>
    choice.hosts.has(request.headers.host?.toLowerCase() ?? '')
      ? choice.handler(request, response)
      : choice.otherwise(request, response)

/**
 * Creates the app on the origin of the public MCP server. Every other path is a 404 in plain text, above all the metadata of OAuth
 * and OpenID: a host that finds any there asks the person to sign in, and never goes on without.
 */
function publicMcpApp(
  common: Omit<AppOptions, 'errorForm'>,
  servedOrigin: string,
  routes: Middleware,
): RequestHandler {
  const app = createApp({
    ...common,
    errorForm: () => 'oauth',
    browsers: {
      servedOrigin,
      alsoAcceptHosts: [],
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

const MCP = '/mcp'
/** Scripts of any origin may POST there: what it does depends on no cookie. */
const PUBLIC_POSTS: ReadonlySet<string> = new Set([operations.answerQuestion.path, MCP])

/** Errors for programs are JSON even in a browser. Apps that a person signs in with read them as OAuth puts them. */
function errorForm(path: string): ErrorForm {
  if (path === MCP) return 'oauth'
  return /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path) ? 'problem' : 'page'
}
