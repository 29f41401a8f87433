import Koa, { type Middleware } from 'koa'
import { createMemoryLimitStore } from '../src/limits/limit-store.ts'
import { createLimiter, type Limiter } from '../src/limits/limiter.ts'
import { createLog } from '../src/observability/log.ts'
import { type HandleErrorsOptions, handleErrors } from '../src/problems/handle-errors.ts'
import { parseTrustedProxies } from '../src/request/client-address.ts'
import { addRequestContext } from '../src/request/request-context.ts'
import { type Authenticators, mountRoutes } from '../src/routing/mount-routes.ts'
import type { RawRoute, Route } from '../src/routing/route.ts'
import { type RunningServer, type ServeOptions, serve } from '../src/server/server.ts'

export const ORIGIN = 'https://plainpath.example'

export interface ServiceOptions {
  /** The public origin; by default `ORIGIN`. */
  origin?: string
  /** A list for `parseTrustedProxies`; by default, no proxy is trusted. */
  trustedProxies?: string
  /** By default, every error has the format `problem`. */
  errors?: Partial<HandleErrorsOptions>
  /** Middleware between the error handler and the routes. */
  use?: readonly Middleware[]
  routes?: readonly (Route | RawRoute)[]
  /** By default, a limiter with a store in memory. */
  limiter?: Limiter
  /** By default none, so routes that need one respond with 500. */
  authenticators?: Authenticators
  serve?: Partial<ServeOptions>
}

export interface Service extends RunningServer {
  /** Every line of the log. */
  readonly logLines: string[]
  /** The arguments of each call of `onResponse`. */
  readonly recordedResponses: { method: string; route: string; status: number; seconds: number }[]
}

/** Starts an app of this package's middleware and `options.routes`, on a free port. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const logLines: string[] = []
  const recordedResponses: Service['recordedResponses'] = []
  const log = createLog({ service: 'test', write: (line) => logLines.push(line) })
  const origin = options.origin ?? ORIGIN
  const app = new Koa()
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
  app.use(mountRoutes(options.routes ?? [], { limiter, authenticators: options.authenticators ?? {} }))
  const server = await serve(app.callback(), {
    port: 0,
    host: '127.0.0.1',
    drainSeconds: 1,
    ...options.serve,
  })
  return Object.assign(server, { logLines, recordedResponses })
}
