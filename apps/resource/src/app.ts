import {
  type Authenticators,
  createApp,
  type FastPathOptions,
  fastPath,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  type RequestHandler,
  type Route,
  type WatchedClock,
} from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { PAGE_CSP } from '@plainpath/pages'
import { isUnavailable } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import { refuseTokenInQuery } from './auth/bearer.ts'
import { AuthorizationServerFailure } from './auth/introspection.ts'
import { UsedProofsUnavailable } from './auth/used-proofs.ts'
import type { Config } from './config.ts'
import type { GuideCatalog } from './guides/guide-catalog.ts'
import { errorPage } from './pages/error-page.ts'

/**
 * Creates the handler of the public listener: the fast path for cached GETs, then the Koa app with all routes. It decides
 * nothing about a single route, and opens no connection (`wire.ts` does).
 */
export function publicHandler(deps: {
  readonly config: Pick<Config, 'origin' | 'trustedProxies' | 'corsOrigins' | 'alsoAcceptHosts'>
  readonly urls: ServiceUrls
  /** What the page for a missing address offers. */
  readonly guides: { current(): GuideCatalog }
  readonly routes: readonly Route[]
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
  const app = createApp({
    ...observed,
    clock,
    csp: PAGE_CSP,
    errorForm: (path) => (isForMachines(path) ? 'problem' : 'page'),
    page: (problem) => errorPage({ origin: config.origin, guides }, problem),
    isUnavailable: (thrown) =>
      thrown instanceof AuthorizationServerFailure ||
      thrown instanceof UsedProofsUnavailable ||
      isUnavailable(thrown),
    browsers: {
      alsoAcceptHosts: config.alsoAcceptHosts,
      allowedOrigins: config.corsOrigins,
      isPublicGet: () => true,
      isPublicPost: (path) => path === operations.answerQuestion.path,
    },
  })
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, { limiter, authenticators }))
  return fastPath(app.callback(), { ...observed, ...deps.fastPathOptions, limiter })
}

/** Tells whether a path is for programs, for which an error is JSON even in a browser. */
const isForMachines = (path: string) => /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path)
