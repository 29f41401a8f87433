import {
  type Authenticators,
  answerErrors,
  crossOrigin,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  type Route,
  requestContext,
  requireHost,
} from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { isUnavailable } from '@plainpath/postgres'
import Koa from 'koa'
import { refuseTokenInQuery } from './auth/bearer.ts'
import { AuthorizationServerFailure } from './auth/introspection.ts'
import type { Config } from './config.ts'
import { errorPage } from './pages/error-page.ts'
import { pageHeaders } from './pages/page-headers.ts'

export interface AppDeps {
  readonly config: Pick<Config, 'origin' | 'trustedProxies' | 'corsOrigins' | 'alsoAcceptHosts'>
  readonly urls: ServiceUrls
  readonly routes: readonly Route[]
  readonly limiter: Limiter
  readonly authenticators: Authenticators
  readonly metrics: Metrics
  readonly log: Log
}

/** What the public reaches, top to bottom in the order a request meets it. */
export function publicApp(deps: AppDeps): Koa {
  const { config, urls, log } = deps
  const { origin } = config
  const app = new Koa()
  app.on('error', (error: Error) => log.warn('an answer could not be sent', { error }))
  app.use(
    requestContext({ origin, log, trustedProxies: config.trustedProxies, onAnswer: deps.metrics.answered }),
  )
  app.use(pageHeaders)
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
  app.use(refuseTokenInQuery(urls))
  app.use(mountRoutes(deps.routes, deps))
  return app
}

/** Where nobody expects a page, an error is JSON even for a browser. */
const isForMachines = (path: string) => /^\/(?:api|\.well-known|openapi\.json)(?:\/|$)/.test(path)
