import {
  ANYBODY,
  answerErrors,
  crossOrigin,
  type ErrorForm,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  onlyReadsByWrongClock,
  pageHeaders,
  type Route,
  requestContext,
  requireHost,
  type TrustedProxies,
  traceRequests,
  type WatchedClock,
} from '@plainpath/http'
import { PAGE_CSP } from '@plainpath/pages'
import { isUnavailable, type ReservedPool } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import Koa from 'koa'
import type { AuthenticateClient } from './clients/authenticate-client.ts'
import { INTERNAL_OAUTH, type OAuthRouteDeps, oauthRoutes, PUBLIC_OAUTH } from './oauth/oauth-routes.ts'
import { errorPage } from './pages/error-page.ts'
import { withReserved } from './revocation/with-reserved.ts'
import { isRedisUnavailable } from './tokens/open-redis.ts'

export interface AppDeps {
  origin: string
  alsoAcceptHosts: readonly string[]
  corsOrigins: readonly string[]
  trustedProxies: TrustedProxies
  log: Log
  metrics: Metrics
  tracing: Tracing | undefined
  clock: WatchedClock
  limiter: Limiter
  db: Pick<ReservedPool, 'reserved'>
  authenticateAnew: AuthenticateClient
  routes: readonly Route[]
  oauth: OAuthRouteDeps
}

const PUBLIC_GETS = new Set(['/oauth/jwks.json', '/.well-known/oauth-authorization-server', '/auth.md'])

/** What the public reaches, top to bottom in the order a request meets it. */
export function publicApp(deps: AppDeps): Koa {
  const app = base(deps)
  app.use(requireHost(deps.origin, deps.alsoAcceptHosts))
  app.use(crossOrigin({ allowedOrigins: deps.corsOrigins, isPublicGet: (path) => PUBLIC_GETS.has(path) }))
  app.use(withReserved(deps.db))
  // Exact paths, and the busiest: looked at first.
  app.use(oauthRoutes(PUBLIC_OAUTH, deps.oauth))
  app.use(
    mountRoutes(deps.routes, {
      limiter: deps.limiter,
      authenticators: { client: (ctx) => deps.authenticateAnew(ctx) },
    }),
  )
  return app
}

/** What resource servers reach, on loopback or the pod network: introspection and the keys it is signed with. */
export function internalApp(deps: AppDeps): Koa {
  const app = base(deps, ANYBODY)
  app.use(oauthRoutes(INTERNAL_OAUTH, deps.oauth))
  return app
}

function formOf(path: string): ErrorForm {
  if (path === '/claim') return 'page'
  if (path.startsWith('/oauth/')) return 'oauth'
  return path.startsWith('/api/agent') ? 'agent' : 'problem'
}

/** @param continues whose traces are gone on with */
function base(deps: AppDeps, continues = deps.trustedProxies): Koa {
  const app = new Koa()
  app.on('error', (error: Error) => deps.log.warn('a response could not be sent', { error }))
  if (deps.tracing) app.use(traceRequests({ tracing: deps.tracing, continues }))
  app.use(requestContext({ ...deps, onAnswer: deps.metrics.answered }))
  app.use(pageHeaders(PAGE_CSP))
  app.use(
    answerErrors({
      origin: deps.origin,
      log: deps.log,
      formOf,
      page: (problem) => errorPage(deps.origin, problem),
      isUnavailable: (thrown) => isUnavailable(thrown) || isRedisUnavailable(thrown),
    }),
  )
  app.use(onlyReadsByWrongClock(deps.clock))
  return app
}

/** Every method and path that `publicApp` answers. */
export const publicSurface = ({ routes }: Pick<AppDeps, 'routes'>): { method: string; path: string }[] => [
  ...routes.map(({ method, path }) => ({ method: method.toUpperCase(), path })),
  ...Object.entries(PUBLIC_OAUTH).flatMap(([path, { methods }]) =>
    methods.map((method) => ({ method, path })),
  ),
]
