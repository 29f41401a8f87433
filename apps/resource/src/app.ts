import {
  type Authenticators,
  answerErrors,
  crossOrigin,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  onlyReadsByWrongClock,
  pageHeaders,
  type QuickAnswersOptions,
  quickAnswers,
  type RequestHandler,
  type Route,
  requestContext,
  requireHost,
  traceRequests,
  type WatchedClock,
} from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { PAGE_CSP } from '@plainpath/pages'
import { isUnavailable } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import Koa from 'koa'
import { refuseTokenInQuery } from './auth/bearer.ts'
import { AuthorizationServerFailure } from './auth/introspection.ts'
import type { Config } from './config.ts'
import { errorPage } from './pages/error-page.ts'

export interface AppDeps {
  readonly config: Pick<Config, 'origin' | 'trustedProxies' | 'corsOrigins' | 'alsoAcceptHosts'>
  readonly urls: ServiceUrls
  readonly routes: readonly Route[]
  readonly limiter: Limiter
  /** What is answered before Koa is asked. */
  readonly quick: Pick<QuickAnswersOptions, 'find' | 'callerOf'>
  readonly authenticators: Authenticators
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly clock: WatchedClock
  readonly log: Log
}

/** What the public reaches: what is in memory at once, all else through the app. */
export function publicHandler(deps: AppDeps): RequestHandler {
  return quickAnswers(publicApp(deps).callback(), {
    ...contextOf(deps),
    ...deps.quick,
    limiter: deps.limiter,
    traces: tracesOf(deps),
  })
}

const contextOf = ({ config, log, metrics }: AppDeps) => ({ ...config, log, onAnswer: metrics.answered })
const tracesOf = ({ config, tracing }: AppDeps) => tracing && { tracing, continues: config.trustedProxies }

/** Top to bottom in the order a request meets it. */
function publicApp(deps: AppDeps): Koa {
  const { config, urls, log } = deps
  const traces = tracesOf(deps)
  const { origin } = config
  const app = new Koa()
  app.on('error', (error: Error) => log.warn('an answer could not be sent', { error }))
  if (traces) app.use(traceRequests(traces))
  app.use(requestContext(contextOf(deps)))
  app.use(pageHeaders(PAGE_CSP))
  app.use(
    answerErrors({
      origin,
      log,
      formOf: (path) => (isForMachines(path) ? 'problem' : 'page'),
      isUnavailable: (thrown) => thrown instanceof AuthorizationServerFailure || isUnavailable(thrown),
      page: (problem) => errorPage(origin, problem),
    }),
  )
  app.use(requireHost(origin, config.alsoAcceptHosts))
  app.use(crossOrigin({ allowedOrigins: config.corsOrigins, isPublicGet: () => true }))
  app.use(onlyReadsByWrongClock(deps.clock))
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, deps))
  return app
}

/** Where nobody expects a page, an error is JSON even for a browser. */
const isForMachines = (path: string) => /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path)
