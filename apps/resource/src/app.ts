import {
  type Authenticators,
  createApp,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  type QuickAnswersOptions,
  quickAnswers,
  type RequestHandler,
  type Route,
  type WatchedClock,
} from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { PAGE_CSP } from '@plainpath/pages'
import { isUnavailable } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import type Koa from 'koa'
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

function publicApp(deps: AppDeps): Koa {
  const { config, urls, clock } = deps
  const { origin } = config
  const app = createApp({
    ...contextOf(deps),
    traces: tracesOf(deps),
    clock,
    csp: PAGE_CSP,
    formOf: (path) => (isForMachines(path) ? 'problem' : 'page'),
    page: (problem) => errorPage(origin, problem),
    isUnavailable: (thrown) => thrown instanceof AuthorizationServerFailure || isUnavailable(thrown),
    browsers: {
      alsoAcceptHosts: config.alsoAcceptHosts,
      allowedOrigins: config.corsOrigins,
      isPublicGet: () => true,
    },
  })
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, deps))
  return app
}

/** Where nobody expects a page, an error is JSON even for a browser. */
const isForMachines = (path: string) => /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path)
