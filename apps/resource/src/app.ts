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
import type { Config } from './config.ts'
import { errorPage } from './pages/error-page.ts'

/** What the public reaches: what is in memory at once, all else through the app. */
export function publicHandler(deps: {
  readonly config: Pick<Config, 'origin' | 'trustedProxies' | 'corsOrigins' | 'alsoAcceptHosts'>
  readonly urls: ServiceUrls
  readonly routes: readonly Route[]
  readonly limiter: Limiter
  /** What is answered before Koa is asked. */
  readonly quick: Pick<FastPathOptions, 'find' | 'cachedCaller'>
  readonly authenticators: Authenticators
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly clock: WatchedClock
  readonly log: Log
}): RequestHandler {
  const { config, urls, limiter, authenticators, metrics, tracing, clock, log } = deps
  const answering = {
    ...config,
    log,
    onAnswer: metrics.answered,
    traces: tracing && { tracing, continues: config.trustedProxies },
  }
  const app = createApp({
    ...answering,
    clock,
    csp: PAGE_CSP,
    errorForm: (path) => (isForMachines(path) ? 'problem' : 'page'),
    page: (problem) => errorPage(config.origin, problem),
    isUnavailable: (thrown) => thrown instanceof AuthorizationServerFailure || isUnavailable(thrown),
    browsers: {
      alsoAcceptHosts: config.alsoAcceptHosts,
      allowedOrigins: config.corsOrigins,
      isPublicGet: () => true,
      isPublicPost: (path) => path === operations.answerQuestion.path,
    },
  })
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, { limiter, authenticators }))
  return fastPath(app.callback(), { ...answering, ...deps.quick, limiter })
}

/** Where nobody expects a page, an error is JSON even for a browser. */
const isForMachines = (path: string) => /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path)
