import Koa from 'koa'
import { type TraceRequestsOptions, traceRequests } from '../observability/trace-requests.ts'
import { type HandleErrorsOptions, handleErrors } from '../problems/handle-errors.ts'
import { refuseWritesUnderClockSkew, type WatchedClock } from '../readiness/watch-clock.ts'
import { type CrossOriginOptions, crossOrigin } from '../request/cross-origin.ts'
import {
  pageHeaders,
  type RequestContextOptions,
  requestContext,
  requireHost,
} from '../request/request-context.ts'

/** The options of `createApp`; each is passed to the middleware that needs it. */
export interface AppOptions extends RequestContextOptions, HandleErrorsOptions {
  readonly traces?: TraceRequestsOptions | undefined
  readonly clock: Pick<WatchedClock, 'requireSynchronised'>
  /** The content security policy of every page. */
  readonly csp: string
  /** Absent for a listener that only the other app calls: it accepts any Host and has no browser clients. */
  readonly browsers?: CrossOriginOptions & {
    readonly alsoAcceptHosts: readonly string[]
    /** The origin that the app serves, if it is not `origin`, which errors name. */
    readonly servedOrigin?: string
  }
}

/** Creates an app with the middleware that every request passes before its route, in this order. */
export function createApp(options: AppOptions): Koa {
  const { log, origin, traces, clock, csp, browsers } = options
  const app = new Koa()
  app.on('error', (error: Error) => log.warn('a response could not be sent', { error }))
  if (traces) app.use(traceRequests(traces))
  app.use(requestContext(options))
  app.use(pageHeaders(csp))
  app.use(handleErrors(options))
  if (browsers) {
    app.use(requireHost(browsers.servedOrigin ?? origin, browsers.alsoAcceptHosts))
    app.use(crossOrigin(browsers))
  }
  app.use(refuseWritesUnderClockSkew(clock))
  return app
}
