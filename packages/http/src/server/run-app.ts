import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type Koa from 'koa'
import { Gauge, Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'
import { openWhenReady, operationsApp, type Readiness, type ReadinessChecks } from '../readiness/readiness.ts'
import { socketAddress, type TrustedProxies } from '../request/client-address.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { type RunningServer, serve, shutdownSignal } from './server.ts'

/*
 * The life cycle of a serving process: wait for startup dependencies, listen, drain after a signal, close. What an app serves
 * and what it opens is its own matter (`serve.ts` of each app); bounds on connections are in `server.ts`.
 */

interface ListenAddress {
  /** 0 picks a free one. */
  readonly port: number
  readonly host: string
}

/** An app whose stores are open, and which does not listen yet. */
interface OpenedApp extends AsyncDisposable {
  readonly operationsApp: Koa
  readonly readiness: Readiness
}

interface RunAppOptions<App extends OpenedApp> {
  /** Checks that must pass before the app is opened. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<App>
  /** True for an error of `open` that may go away by itself. */
  readonly isTransient: (error: unknown) => boolean
  readonly operations: ListenAddress
  /** The listeners other than that of operators, by name. Their ports are logged as `<name>_port`, or `port` for `public`. */
  readonly listeners: (
    app: App,
  ) => Readonly<Record<string, ListenAddress & { readonly handler: RequestHandler }>>
  /** Proxies that may send the gateway check to these listeners. On that of operators anybody may. */
  readonly trustedProxies: TrustedProxies
  /** How long the app serves new requests after the signal, until load balancers have noticed that it is not ready. */
  readonly drainDelaySeconds: number
  /** How long requests in flight may take after that. */
  readonly drainSeconds: number
  readonly log: Log
}

/**
 * Runs an app until SIGTERM or SIGINT. The listener of operators opens first: `/live` is 200, and `/ready` names the missing
 * startup dependencies. The other listeners open together with the app.
 *
 * After the signal, `/ready` and the gateway check respond with 503 and every response closes its connection. When
 * `drainDelaySeconds` are over, the listeners stop accepting, requests in flight are completed, and the stores close.
 *
 * @throws an error that is not transient, such as a port in use or a bug
 */
export async function runApp<App extends OpenedApp>(options: RunAppOptions<App>): Promise<void> {
  const { log, drainSeconds } = options
  const stopping = new AbortController()
  let isServing = false
  const signalled = shutdownSignal().then((signal) => {
    isServing = false
    stopping.abort()
    return signal
  })
  await using resources = new AsyncDisposableStack()
  // Disposed last, so that the reason for the end is written too.
  resources.defer(async () => log.flush?.())
  resources.use(exitOnUncaughtErrors(log))
  const waiting = openWhenReady(options)
  let operationsHandler: RequestHandler = operationsApp({
    readiness: waiting.readiness,
    registry: registryWhileWaiting(),
  }).callback()
  const operations = resources.use(
    await serve(
      respondToGatewayCheck((request, response) => operationsHandler(request, response), {
        isServing: () => isServing,
      }),
      { ...options.operations, drainSeconds },
    ),
  )
  const app = await waiting.open(stopping.signal)
  if (!app) return log.info('stopping', { signal: await signalled })
  resources.use(app)
  const servers: RunningServer[] = []
  const ports: Record<string, number> = {}
  for (const [name, { handler: appHandler, ...address }] of Object.entries(options.listeners(app))) {
    const { trustedProxies } = options
    const handler = respondToGatewayCheck(appHandler, { isServing: () => isServing, trustedProxies })
    const server = resources.use(await serve(handler, { ...address, drainSeconds }))
    servers.push(server)
    ports[name === 'public' ? 'port' : `${name}_port`] = server.port
  }
  operationsHandler = app.operationsApp.callback()
  isServing = !stopping.signal.aborted
  log.info('listening', { ...ports, operations_port: operations.port })

  const signal = await signalled
  app.readiness.drain()
  for (const server of servers) server.disableKeepAlive()
  log.info('stopping', { signal })
  await sleep(options.drainDelaySeconds * 1_000)
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
}

/** The registry served until the app is open. It holds one gauge; the app has a registry of its own. */
function registryWhileWaiting(): Registry {
  const registry = new Registry()
  const help = '1 while the app waits for its startup dependencies'
  new Gauge({ name: 'waiting_to_start', help, registers: [registry] }).set(1)
  return registry
}

/** A reserved name (RFC 2606 §2), so that no public request carries it by accident. */
export const GATEWAY_CHECK_HOST = 'gateway-check.invalid'

/**
 * Responds to the health check of a gateway, `GET /` with the host `GATEWAY_CHECK_HOST`: 204 while this instance serves, 503
 * before it listens and once it drains. `/ready` would not do, since a shared store that is down affects every instance alike.
 * A forwarded request, and any request from an address that is not a trusted proxy, goes to `handler`.
 *
 * @param options.trustedProxies may send the check; without them anybody may
 */
export function respondToGatewayCheck(
  handler: RequestHandler,
  { isServing, trustedProxies }: { isServing: () => boolean; trustedProxies?: TrustedProxies },
): RequestHandler {
  const isCheck = ({ url, method, headers, socket }: IncomingMessage) =>
    url === '/' &&
    method === 'GET' &&
    headers.host === GATEWAY_CHECK_HOST &&
    headers['x-forwarded-for'] === undefined &&
    (trustedProxies?.has(socketAddress(socket)) ?? true)
  return (request, response) => {
    if (!isCheck(request)) return handler(request, response)
    // Without keep-alive, since the next check may have to reach another instance at the same address.
    return response
      .writeHead(isServing() ? 204 : 503, { 'cache-control': 'no-store', connection: 'close' })
      .end()
  }
}

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Logs an uncaught error and exits with 1, until disposed: the state of the process is unknown after such an error. Node's own
 * handler would print the error unredacted.
 *
 * Also disables SIGUSR1, which would open Node's debugger and with it every secret of the process.
 */
export function exitOnUncaughtErrors(log: Log): Disposable {
  const exit = (error: unknown) => {
    log.error('the process ends after an uncaught error', { error })
    process.exit(1)
  }
  const ignore = () => undefined
  for (const event of EVENTS) process.on(event, exit)
  process.on('SIGUSR1', ignore)
  return {
    [Symbol.dispose]() {
      for (const event of EVENTS) process.off(event, exit)
      process.off('SIGUSR1', ignore)
    },
  }
}
