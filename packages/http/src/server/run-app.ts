import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type Koa from 'koa'
import { Gauge, Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'
import { openWhenReady, operationsApp, type Readiness, type ReadinessChecks } from '../readiness/readiness.ts'
import { socketAddress, type TrustedProxies } from '../request/client-address.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { type RunningServer, serve, shutdownSignal } from './server.ts'

interface Place {
  /** 0 picks a free one. */
  readonly port: number
  readonly host: string
}

/** An app with its stores open, which does not listen yet. */
interface OpenedApp extends AsyncDisposable {
  readonly operationsApp: Koa
  readonly readiness: Readiness
}

interface RunAppOptions<App extends OpenedApp> {
  /** What the app cannot be opened without. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<App>
  /** Whether what `open` threw says "not now". */
  readonly isTransient: (error: unknown) => boolean
  readonly operations: Place
  /** The listeners beside the one for operators, by name; the log says `<name>_port`, or `port` for `public`. */
  readonly listeners: (app: App) => Readonly<Record<string, Place & { readonly handler: RequestHandler }>>
  /** Who may ask the gateway's check on these listeners. On the one for operators anybody may. */
  readonly trustedProxies: TrustedProxies
  /** How long requests are still taken, unready, after the signal: until everybody who sends them has looked away. */
  readonly drainDelaySeconds: number
  /** How long those in flight may take after that. */
  readonly drainSeconds: number
  readonly log: Log
}

/**
 * Runs an app until SIGTERM or SIGINT. The listener for operators comes first: `/live` is 200, and `/ready` says what is
 * waited for. All others come when the app is open. After the signal `/ready` and the gateway's check turn 503 and each
 * answer ends its connection; later listeners stop accepting, what is in flight is answered, and stores close.
 *
 * @throws what no waiting mends: a port that is taken, a fault of ours
 */
export async function runApp<App extends OpenedApp>(options: RunAppOptions<App>): Promise<void> {
  const { log, drainSeconds } = options
  const stopping = new AbortController()
  let isTaking = false
  const signalled = shutdownSignal().then((signal) => {
    isTaking = false
    stopping.abort()
    return signal
  })
  await using resources = new AsyncDisposableStack()
  // Why it ends is said on another stream; it comes last.
  resources.defer(async () => log.flush?.())
  resources.use(exitOnUncaughtErrors(log))
  const waiting = openWhenReady(options)
  let operators: RequestHandler = operationsApp({ ...waiting, registry: registryWhileWaiting() }).callback()
  const operations = resources.use(
    await serve(
      respondToGatewayCheck((request, response) => operators(request, response), {
        isTaking: () => isTaking,
      }),
      { ...options.operations, drainSeconds },
    ),
  )
  const app = await waiting.openAtLast(stopping.signal)
  if (!app) return log.info('stopping', { signal: await signalled })
  resources.use(app)
  const servers: RunningServer[] = []
  const ports: Record<string, number> = {}
  for (const [name, { handler: own, ...place }] of Object.entries(options.listeners(app))) {
    const { trustedProxies } = options
    const handler = respondToGatewayCheck(own, { isTaking: () => isTaking, trustedProxies })
    const server = resources.use(await serve(handler, { ...place, drainSeconds }))
    servers.push(server)
    ports[name === 'public' ? 'port' : `${name}_port`] = server.port
  }
  operators = app.operationsApp.callback()
  isTaking = !stopping.signal.aborted
  log.info('listening', { ...ports, operations_port: operations.port })

  const signal = await signalled
  app.readiness.drain()
  for (const server of servers) server.disableKeepAlive()
  log.info('stopping', { signal })
  await sleep(options.drainDelaySeconds * 1_000)
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
}

/** Says no more than that the app is not open yet; the app brings a registry of its own. */
function registryWhileWaiting(): Registry {
  const registry = new Registry()
  const help = '1 while the app waits for what it cannot start without'
  new Gauge({ name: 'waiting_to_start', help, registers: [registry] }).set(1)
  return registry
}

/** Nobody's name (RFC 2606 §2), so that no request of the public means it. */
export const GATEWAY_CHECK_HOST = 'gateway-check.invalid'

/**
 * Answers a gateway that asks `GET /` under `GATEWAY_CHECK_HOST` whether to send requests here: 204, or 503 until this
 * instance listens and once it drains. That a shared store is away is no reason to send them elsewhere, so this is not
 * `/ready`. A request that a proxy passed on, and any from an address that is not a trusted proxy's, goes to `handler`.
 *
 * @param options.trustedProxies may ask; everybody may when absent
 */
export function respondToGatewayCheck(
  handler: RequestHandler,
  { isTaking, trustedProxies }: { isTaking: () => boolean; trustedProxies?: TrustedProxies },
): RequestHandler {
  const isCheck = ({ url, method, headers, socket }: IncomingMessage) =>
    url === '/' &&
    method === 'GET' &&
    headers.host === GATEWAY_CHECK_HOST &&
    headers['x-forwarded-for'] === undefined &&
    (trustedProxies?.has(socketAddress(socket)) ?? true)
  return (request, response) => {
    if (!isCheck(request)) return handler(request, response)
    // The next question may be for another instance at the same address.
    return response
      .writeHead(isTaking() ? 204 : 503, { 'cache-control': 'no-store', connection: 'close' })
      .end()
  }
}

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Until disposed: what nobody caught, in a timer or a promise, is logged as every other error is, and the process ends
 * with 1, since nobody knows what was left half done. Node would print it whole.
 *
 * SIGUSR1 would open Node's debugger, which can read every secret of the process; here it does nothing.
 */
export function exitOnUncaughtErrors(log: Log): Disposable {
  const end = (error: unknown) => {
    log.error('nobody caught this error: the process ends', { error })
    process.exit(1)
  }
  const ignore = () => undefined
  for (const event of EVENTS) process.on(event, end)
  process.on('SIGUSR1', ignore)
  return {
    [Symbol.dispose]() {
      for (const event of EVENTS) process.off(event, end)
      process.off('SIGUSR1', ignore)
    },
  }
}
