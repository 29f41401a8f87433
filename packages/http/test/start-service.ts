import Koa, { type Middleware } from 'koa'
import {
  type AnswerErrorsOptions,
  type Authenticators,
  answerErrors,
  createLimiter,
  createLog,
  type Limiter,
  memoryLimitStore,
  mountRoutes,
  parseTrustedProxies,
  type Route,
  type RunningServer,
  requestContext,
  type ServeOptions,
  serve,
} from '../src/index.ts'

export const ORIGIN = 'https://plainpath.example'

export interface ServiceOptions {
  origin?: string
  trustedProxies?: string
  errors?: Partial<AnswerErrorsOptions>
  /** Between the error handling and the routes. */
  use?: readonly Middleware[]
  routes?: readonly Route[]
  limiter?: Limiter
  authenticators?: Authenticators
  serve?: Partial<ServeOptions>
}

export interface Service extends RunningServer {
  /** Every line of the log. */
  readonly logged: string[]
  /** What `onAnswer` was told. */
  readonly answered: { method: string; route: string; status: number; seconds: number }[]
}

/** An app built of this package alone, on a free port. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const logged: string[] = []
  const answered: Service['answered'] = []
  const log = createLog({ service: 'test', write: (line) => logged.push(line) })
  const origin = options.origin ?? ORIGIN
  const app = new Koa()
  app.on('error', (error: Error) => log.warn('an answer could not be sent', { error }))
  app.use(
    requestContext({
      log,
      origin,
      trustedProxies: parseTrustedProxies(options.trustedProxies ?? ''),
      onAnswer: (answer) => answered.push(answer),
    }),
  )
  app.use(answerErrors({ origin, log, formOf: () => 'problem', ...options.errors }))
  for (const middleware of options.use ?? []) app.use(middleware)
  const limiter =
    options.limiter ??
    createLimiter({ store: memoryLimitStore(() => new Date()), factor: 1, now: () => new Date(), log })
  app.use(mountRoutes(options.routes ?? [], { limiter, authenticators: options.authenticators ?? {} }))
  const server = await serve(app.callback(), {
    port: 0,
    host: '127.0.0.1',
    drainSeconds: 1,
    ...options.serve,
  })
  return Object.assign(server, { logged, answered })
}
