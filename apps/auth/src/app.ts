import {
  type AppOptions,
  createApp,
  type ErrorForm,
  type Limiter,
  type Log,
  type Metrics,
  mountRoutes,
  type ProblemDocument,
  problemKind,
  type Route,
  surfaceOf,
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
  authenticateAnew: AuthenticateClient
  routes: readonly Route[]
  oauth: OAuthRouteDeps
}

const PUBLIC_GETS = new Set(['/oauth/jwks.json', '/.well-known/oauth-authorization-server', '/auth.md'])

/** What the public reaches. */
export function publicApp(deps: AppDeps): Koa {
  const app = createApp({
    ...appOptions(deps),
    traces: deps.tracing && { tracing: deps.tracing, continues: deps.trustedProxies },
    browsers: {
      alsoAcceptHosts: deps.alsoAcceptHosts,
      allowedOrigins: deps.corsOrigins,
      isPublicGet: (path) => PUBLIC_GETS.has(path),
    },
  })
  app.use(withReserved(deps.db))
  app.use(
    mountRoutes(publicRoutes(deps), {
      limiter: deps.limiter,
      authenticators: { client: (ctx) => deps.authenticateAnew(ctx) },
    }),
  )
  return app
}

const publicRoutes = ({ oauth, routes }: AppDeps) => [...publicOAuthRoutes(oauth), ...routes]

/** Every method and path that `publicApp` answers. */
export const publicSurface = (deps: AppDeps) => surfaceOf(publicRoutes(deps))

/** What resource servers reach, on loopback or the pod network: introspection and the keys it is signed with. */
export function internalApp(deps: AppDeps): Koa {
  const { tracing, limiter } = deps
  // Only the other app can connect here, so every trace is continued.
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
  onAnswer: metrics.answered,
  formOf,
  page: (problem) => errorPage(origin, problem),
  isUnavailable: (thrown) => isUnavailable(thrown) || isRedisUnavailable(thrown),
})

function formOf(path: string): ErrorForm {
  if (path === '/claim') return 'page'
  if (path.startsWith('/oauth/')) return 'oauth'
  return path.startsWith('/api/agent') ? 'agent' : 'problem'
}

/**
 * Requests that end tokens, clients, secrets or claims may use the database connections that are kept back: whoever fills
 * the pool cannot stop them.
 */
const withReserved =
  (db: Pick<ReservedPool, 'reserved'>): Middleware =>
  (ctx, next) =>
    endsSomething(ctx) ? db.reserved(next) : next()

const ENDING_POSTS = new Set(['/oauth/revoke', '/claim'])

const endsSomething = ({ method, path }: Context) =>
  method === 'DELETE' || (method === 'POST' && ENDING_POSTS.has(path))

/** What a person sees instead of a problem document. */
function errorPage(origin: string, problem: ProblemDocument): string {
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = problemKind(code)
  const stated = detail === `${meaning} ${remedy}` ? meaning : detail
  const body = html`${problemPage({ origin, code, title, status, meaning: stated, remedy })}
<p class="facts">Request <code>${problem.request_id}</code></p>`
  return renderPage({ title, origin, path, body, noindex: true })
}
