import Koa from 'koa'
import { type TraceRequestsOptions, traceRequests } from '../observability/trace-requests.ts'
import { type HandleErrorsOptions, handleErrors } from '../problems/handle-errors.ts'
import { refuseWritesUnderClockSkew, type WatchedClock } from '../readiness/watch-clock.ts'
import { type CrossOriginOptions, handleCrossOrigin } from '../request/cross-origin.ts'
import {
  addPageHeaders,
  addRequestContext,
  type RequestContextOptions,
  requireHost,
} from '../request/request-context.ts'

/** Options that `createApp` passes to its middleware. */
export interface AppOptions extends RequestContextOptions, HandleErrorsOptions {
  readonly traces?: TraceRequestsOptions | undefined
  readonly clock: Pick<WatchedClock, 'requireSynchronised'>
  /** The content security policy of pages whose route sets none. */
  readonly csp: string
  /** Absent for a listener that only the other app calls. It then accepts any Host and has no browser clients. */
  readonly browsers?: CrossOriginOptions & {
    readonly additionalHosts: readonly string[]
    /** The origin under which browsers reach the app, if it differs from `origin`, which problem URLs contain. */
    readonly servedOrigin?: string
  }
}

/** Creates an app with the middleware that every request passes before its route. The code lists it in order. */
export function createApp(options: AppOptions): Koa {
  const { log, origin, traces, clock, csp, browsers } = options
  const app = new Koa()
  app.on('error', (error: Error) => log.warn('a response could not be sent', { error }))
  if (traces) app.use(traceRequests(traces))
  app.use(addRequestContext(options))
  app.use(addPageHeaders(csp))
  app.use(handleErrors(options))
  if (browsers) {
    app.use(requireHost(browsers.servedOrigin ?? origin, browsers.additionalHosts))
    app.use(handleCrossOrigin(browsers))
  }
  app.use(refuseWritesUnderClockSkew(clock))
  return app
}
