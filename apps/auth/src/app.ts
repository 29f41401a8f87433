/*
 * The two Koa applications of the authorization server: the public one and the internal one. This module decides which
 * routes, error formats and CORS rules each has. The routes are in the folders of their features, and `wire.ts` creates
 * their dependencies. The middleware that auth and the API share is in `@plainpath/http`.
 */
import {
  type AppOptions,
  createApp,
  type ErrorFormat,
  explainToPerson,
  type Limiter,
  type Log,
  listEndpoints,
  type Metrics,
  mountRoutes,
  type ProblemDocument,
  type RawRoute,
  type Route,
  type TrustedProxies,
  type WatchedClock,
} from '@plainpath/http'
import { html, PAGE_CSP, renderPage, renderProblemPage } from '@plainpath/pages'
import { isUnavailable, type ReservedPool } from '@plainpath/postgres'
import type { Tracing } from '@plainpath/tracing'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { AuthenticateClient } from './clients/client-authenticator.ts'
import { LIMITS } from './limits.ts'
import {
  createInternalOAuthRoutes,
  createPublicOAuthRoutes,
  type OAuthRouteDeps,
} from './oauth/oauth-routes.ts'
import { isRedisUnavailable } from './open-redis.ts'

export interface AppDeps {
  origin: string
  /** Values of the `Host` header that are accepted besides the host of `origin`. */
  additionalHosts: readonly string[]
  /** Origins whose scripts may send requests other than GET and HEAD. */
  corsOrigins: readonly string[]
  trustedProxies: TrustedProxies
  log: Log
  metrics: Metrics
  tracing: Tracing | undefined
  clock: WatchedClock
  limiter: Limiter
  db: Pick<ReservedPool, 'runReserved'>
  /** Authenticates a client by its current row, so that a secret that was just removed is rejected. */
  authenticateUncached: AuthenticateClient
  routes: readonly Route[]
  /** The routes for the registration of apps that people connect. */
  appRoutes: readonly RawRoute[]
  /** The paths of documents that scripts of any origin can read. */
  documentPaths: readonly string[]
  oauth: OAuthRouteDeps
  /** The key that signs cookies. It is the same in every instance. */
  cookieKey: string
  /** The routes of the pages on which a person signs in for an app. */
  signInRoutes: readonly RawRoute[]
}

/** Builds the application for the public listener. */
export function createPublicApp(deps: AppDeps): Koa {
  const publicGetPaths = new Set(['/oauth/jwks.json', ...deps.documentPaths])
  const app = createApp({
    ...createAppOptions(deps),
    traces: deps.tracing && { tracing: deps.tracing, trustedSenders: deps.trustedProxies },
    browsers: {
      additionalHosts: deps.additionalHosts,
      allowedOrigins: deps.corsOrigins,
      isPublicGet: (path) => publicGetPaths.has(path),
    },
  })
  app.keys = [deps.cookieKey]
  app.use(useReservedConnections(deps.db))
  app.use(
    mountRoutes(listPublicRoutes(deps), {
      limiter: deps.limiter,
      authenticators: { client: (ctx) => deps.authenticateUncached(ctx) },
      unmatchedLimits: LIMITS.documents,
    }),
  )
  return app
}

const listPublicRoutes = ({ oauth, appRoutes, signInRoutes, routes }: AppDeps) => [
  ...createPublicOAuthRoutes(oauth),
  ...appRoutes,
  ...signInRoutes,
  ...routes,
]

/** Lists every method and path that the public application serves. */
export const listPublicEndpoints = (deps: AppDeps) => listEndpoints(listPublicRoutes(deps))

/**
 * Builds the application for the internal listener, on loopback or the pod network: resource servers introspect tokens
 * there and fetch the keys that verify the responses.
 */
export function createInternalApp(deps: AppDeps): Koa {
  const { tracing, limiter } = deps
  // Only resource servers are supposed to reach this listener, so every trace context is trusted.
  const traces = tracing && { tracing, trustedSenders: { has: () => true } }
  const app = createApp({ ...createAppOptions(deps), traces })
  app.use(mountRoutes(createInternalOAuthRoutes(deps.oauth), { limiter, authenticators: {} }))
  return app
}

const createAppOptions = ({ origin, trustedProxies, log, metrics, clock }: AppDeps): AppOptions => ({
  origin,
  trustedProxies,
  log,
  clock,
  csp: PAGE_CSP,
  onResponse: metrics.countResponse,
  chooseErrorFormat: chooseErrorFormatForPath,
  renderPage: (problem) => renderErrorPage(origin, problem),
  isUnavailable: (thrown) => isUnavailable(thrown) || isRedisUnavailable(thrown),
})

/** The routes that a browser opens while a person connects an app. */
const BROWSER_PATH = /^\/oauth\/(?:authorize|sign-in)(?:\/|$)/

function chooseErrorFormatForPath(path: string): ErrorFormat {
  if (path === '/claim' || BROWSER_PATH.test(path)) return 'page'
  if (path.startsWith('/oauth/')) return 'oauth'
  return path.startsWith('/api/agent') ? 'agent' : 'problem'
}

/**
 * Lets requests that can revoke tokens, clients, secrets or verifications use the reserved database connections. Other traffic
 * then cannot block a revocation by filling the pool.
 */
const useReservedConnections =
  (db: Pick<ReservedPool, 'runReserved'>): Middleware =>
  (ctx, next) =>
    isRevocation(ctx) ? db.runReserved(next) : next()

const REVOKING_POSTS = new Set(['/oauth/revoke', '/claim'])

/** Replacing the keys of an agent counts too, because removing a key revokes the agent's tokens. */
const isRevocation = ({ method, path }: Context) =>
  method === 'DELETE' ||
  (method === 'POST' && REVOKING_POSTS.has(path)) ||
  (method === 'PUT' && path === '/api/agent/jwks')

/** Renders a problem as an HTML page, for paths that people open in a browser. */
function renderErrorPage(origin: string, problem: ProblemDocument): string {
  const { code, title, status, instance: path } = problem
  const body = html`${renderProblemPage({ origin, code, title, status, ...explainToPerson(problem) })}
<p class="facts">Request <code>${problem.request_id}</code></p>`
  return renderPage({ title, origin, path, body, noindex: true })
}
