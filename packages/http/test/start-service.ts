import Koa, { type Middleware } from 'koa'
import { createMemoryLimitStore, type LimitPolicy } from '../src/limits/limit-store.ts'
import { createLimiter, type Limiter } from '../src/limits/limiter.ts'
import { createLog } from '../src/observability/log.ts'
import { type HandleErrorsOptions, handleErrors } from '../src/problems/handle-errors.ts'
import { parseTrustedProxies } from '../src/request/client-address.ts'
import { addRequestContext } from '../src/request/request-context.ts'
import { type Authenticators, mountRoutes } from '../src/routing/mount-routes.ts'
import type { RawRoute, Route } from '../src/routing/route.ts'
import { type RunningServer, type ServeOptions, serve } from '../src/server/server.ts'

/** The configured public origin. The service does not listen there, but at its `url`. */
export const ORIGIN = 'https://plainpath.example'

export interface ServiceOptions {
  /** The public origin; by default `ORIGIN`. */
  origin?: string
  /** A list for `parseTrustedProxies`; by default, no proxy is trusted. */
  trustedProxies?: string
  /** Overrides the options of `handleErrors`. By default, every error has the format `problem`. */
  errors?: Partial<HandleErrorsOptions>
  /** Middleware between the error handler and the routes. */
  use?: readonly Middleware[]
  /** The routes; by default none. */
  routes?: readonly (Route | RawRoute)[]
  /** Policies for requests without a route; by default none. */
  unmatchedLimits?: readonly LimitPolicy[]
  /** By default, a limiter with an in-memory store. */
  limiter?: Limiter
  /** By default none, so a route that authenticates its callers responds with 500. */
  authenticators?: Authenticators
  /** Overrides the options of `serve`: a free port, 127.0.0.1, and a drain of 1 s. */
  serve?: Partial<ServeOptions>
}

export interface Service extends RunningServer {
  /** The lines of the log, each a JSON object. */
  readonly logLines: string[]
  /** What `addRequestContext` reported for each response. */
  readonly recordedResponses: { method: string; route: string; status: number; seconds: number }[]
}

/** Starts an HTTP service with this package's middleware and the given routes, on a free port of 127.0.0.1. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const logLines: string[] = []
  const recordedResponses: Service['recordedResponses'] = []
  const log = createLog({ service: 'test', write: (line) => logLines.push(line) })
  const origin = options.origin ?? ORIGIN
  const app = new Koa()
  // As in `createApp`.
  app.on('error', (error: Error) => log.warn('a response could not be sent', { error }))
  app.use(
    addRequestContext({
      log,
      origin,
      trustedProxies: parseTrustedProxies(options.trustedProxies ?? ''),
      onResponse: (response) => recordedResponses.push(response),
    }),
  )
  app.use(handleErrors({ origin, log, chooseErrorFormat: () => 'problem', ...options.errors }))
  for (const middleware of options.use ?? []) app.use(middleware)
  const limiter =
    options.limiter ??
    createLimiter({ store: createMemoryLimitStore(() => new Date()), factor: 1, now: () => new Date(), log })
  const { routes = [], authenticators = {}, unmatchedLimits = [] } = options
  app.use(mountRoutes(routes, { limiter, authenticators, unmatchedLimits }))
  const server = await serve(app.callback(), {
    port: 0,
    host: '127.0.0.1',
    drainSeconds: 1,
    ...options.serve,
  })
  return Object.assign(server, { logLines, recordedResponses })
}
