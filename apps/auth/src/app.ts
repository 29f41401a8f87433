/*
 * The two Koa applications of the authorization server: the public one and the internal one. This module decides which
 * routes, error formats and CORS rules each has. The routes live with their features; `wire.ts` builds what they use;
 * middleware common to both servers is in `@plainpath/http`.
 */
import {
  type AppOptions,
  createApp,
  type ErrorForm,
  type Limiter,
  type Log,
  listEndpoints,
  type Metrics,
  mountRoutes,
  type ProblemDocument,
  problemKind,
  type RawRoute,
  type Route,
  type TrustedProxies,
  type WatchedClock,
} from '@plainpath/http'
import { html, PAGE_CSP, problemPage, renderPage } from '@plainpath/pages'
import { isUnavailable, type ReservedPool } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { AuthenticateClient } from './clients/authenticate-client.ts'
import { internalOAuthRoutes, type OAuthRouteDeps, publicOAuthRoutes } from './oauth/oauth-routes.ts'
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
  authenticateUncached: AuthenticateClient
  routes: readonly Route[]
  /** The routes of apps that people connect from, beside those of OAuth. */
  appRoutes: readonly RawRoute[]
  /** The paths of the documents among the routes, which scripts of any origin may read. */
  documentPaths: readonly string[]
  oauth: OAuthRouteDeps
  /** Signs cookies. The same at every instance. */
  cookieKey: string
  /** The sign-in pages. */
  signIn: readonly RawRoute[]
}

/** Builds the application for the public listener. */
export function publicApp(deps: AppDeps): Koa {
  const publicGets = new Set(['/oauth/jwks.json', ...deps.documentPaths])
  const app = createApp({
    ...appOptions(deps),
    traces: deps.tracing && { tracing: deps.tracing, continues: deps.trustedProxies },
    browsers: {
      alsoAcceptHosts: deps.alsoAcceptHosts,
      allowedOrigins: deps.corsOrigins,
      isPublicGet: (path) => publicGets.has(path),
    },
  })
  app.keys = [deps.cookieKey]
  app.use(useReservedConnections(deps.db))
  app.use(
    mountRoutes(publicRoutes(deps), {
      limiter: deps.limiter,
      authenticators: { client: (ctx) => deps.authenticateUncached(ctx) },
    }),
  )
  return app
}

const publicRoutes = ({ oauth, appRoutes, signIn, routes }: AppDeps) => [
  ...publicOAuthRoutes(oauth),
  ...appRoutes,
  ...signIn,
  ...routes,
]

/** Lists every method and path that `publicApp` serves. */
export const publicSurface = (deps: AppDeps) => listEndpoints(publicRoutes(deps))

/**
 * Builds the application for the internal listener, on loopback or the pod network: resource servers introspect tokens
 * there and fetch the keys that verify the responses.
 */
export function internalApp(deps: AppDeps): Koa {
  const { tracing, limiter } = deps
  // Only resource servers can connect here, so their trace context is trusted.
  const traces = tracing && { tracing, continues: { has: () => true } }
  const app = createApp({ ...appOptions(deps), traces })
  app.use(mountRoutes(internalOAuthRoutes(deps.oauth), { limiter, authenticators: {} }))
  return app
}

const appOptions = ({ origin, trustedProxies, log, metrics, clock }: AppDeps): AppOptions => ({
  origin,
  trustedProxies,
  log,
  clock,
  csp: PAGE_CSP,
  onResponse: metrics.countResponse,
  errorForm,
  page: (problem) => errorPage(origin, problem),
  isUnavailable: (thrown) => isUnavailable(thrown) || isRedisUnavailable(thrown),
})

/** What a browser opens while a person connects an app. */
const BROWSER_PATH = /^\/oauth\/(?:authorize|sign-in)(?:\/|$)/

function errorForm(path: string): ErrorForm {
  if (path === '/claim' || BROWSER_PATH.test(path)) return 'page'
  if (path.startsWith('/oauth/')) return 'oauth'
  return path.startsWith('/api/agent') ? 'agent' : 'problem'
}

/**
 * Lets requests that revoke tokens, clients, secrets or claims use the reserved database connections, so that other
 * traffic cannot block a revocation by filling the pool.
 */
const useReservedConnections =
  (db: Pick<ReservedPool, 'reserved'>): Middleware =>
  (ctx, next) =>
    isRevocation(ctx) ? db.reserved(next) : next()

const REVOKING_POSTS = new Set(['/oauth/revoke', '/claim'])

const isRevocation = ({ method, path }: Context) =>
  method === 'DELETE' || (method === 'POST' && REVOKING_POSTS.has(path))

/** Renders a problem as an HTML page, for paths that people open in a browser. */
function errorPage(origin: string, problem: ProblemDocument): string {
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = problemKind(code)
  const stated = detail === `${meaning} ${remedy}` ? meaning : detail
  const body = html`${problemPage({ origin, code, title, status, meaning: stated, remedy })}
<p class="facts">Request <code>${problem.request_id}</code></p>`
  return renderPage({ title, origin, path, body, noindex: true })
}
