import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type Koa from 'koa'
import { Gauge, Registry } from 'prom-client'
import type { Log } from '../observability/log.ts'
import {
  createOperationsApp,
  createWaitingApp,
  type Readiness,
  type ReadinessChecks,
} from '../readiness/readiness.ts'
import { getSocketAddress, type TrustedProxies } from '../request/client-address.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { type RunningServer, serve, waitForShutdownSignal } from './server.ts'

/*
 * The life cycle of a serving process: wait for startup dependencies, listen, drain after a signal, close. Each app's
 * `serve.ts` opens its stores and handlers. `server.ts` limits the connections of a listener, and drains it.
 */

interface ListenAddress {
  /** 0 picks a free port. */
  readonly port: number
  readonly host: string
}

/** An app whose stores are open, but which does not listen yet. */
interface OpenedApp extends AsyncDisposable {
  readonly operationsApp: Koa
  readonly readiness: Readiness
}

interface RunAppOptions<App extends OpenedApp> {
  /** Checks that must pass before the app is opened. */
  readonly startupDependencies: ReadinessChecks
  readonly open: () => Promise<App>
  /** Returns true for an error of `open` after which a retry may succeed. */
  readonly isTransient: (error: unknown) => boolean
  readonly operations: ListenAddress
  /** The listeners except operations, by name. Their ports are logged as `<name>_port`, or `port` for `public`. */
  readonly listeners: (
    app: App,
  ) => Readonly<Record<string, ListenAddress & { readonly handler: RequestHandler }>>
  /** Proxies that may send the gateway check (see `respondToGatewayCheck`) to these listeners. On the operations listener, anybody may send it. */
  readonly trustedProxies: TrustedProxies
  /** How long the app serves new requests after the signal, so that load balancers can notice that it is not ready. */
  readonly drainDelaySeconds: number
  /** How long requests in flight may take after the drain delay. */
  readonly drainSeconds: number
  readonly log: Log
}

/**
 * Runs an app until SIGTERM or SIGINT. The operations listener opens first: `/live` is 200, and `/ready` names the
 * missing startup dependencies. The other listeners open once the app is open.
 *
 * After the signal, `/ready` and the gateway check respond with 503, and responses close their connections. After
 * `drainDelaySeconds`, all listeners except operations stop accepting connections. Requests in flight then have `drainSeconds` to finish
 * before the stores close.
 *
 * @throws an error of `open` that is not transient, or an error of listening, such as a port in use
 */
export async function runApp<App extends OpenedApp>(options: RunAppOptions<App>): Promise<void> {
  const { log, drainSeconds } = options
  const stop = new AbortController()
  let isServing = false
  const signalPromise = waitForShutdownSignal().then((signal) => {
    isServing = false
    stop.abort()
    return signal
  })
  await using resources = new AsyncDisposableStack()
  // The log is flushed last, because it has to contain the reason why the process ends.
  resources.defer(async () => log.flush?.())
  resources.use(exitOnUncaughtErrors(log))
  const waitingApp = createWaitingApp(options)
  let operationsHandler: RequestHandler = createOperationsApp({
    readiness: waitingApp.readiness,
    registry: createWaitingRegistry(),
  }).callback()
  const operations = resources.use(
    await serve(
      respondToGatewayCheck((request, response) => operationsHandler(request, response), {
        isServing: () => isServing,
      }),
      { ...options.operations, drainSeconds },
    ),
  )
  const app = await waitingApp.open(stop.signal)
  if (!app) return log.info('stopping', { signal: await signalPromise })
  resources.use(app)
  // Startup leaves garbage that V8 would collect only under load. Only a `last-resort` collection returns the memory to the
  // operating system. It takes about 0.1 s. Without `--expose-gc` (see infra/Dockerfile), there is no `gc`, and nothing happens.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
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
  isServing = !stop.signal.aborted
  log.info('listening', { ...ports, operations_port: operations.port })

  const signal = await signalPromise
  app.readiness.drain()
  for (const server of servers) server.disableKeepAlive()
  log.info('stopping', { signal })
  await sleep(options.drainDelaySeconds * 1_000)
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
}

/** Creates the metrics registry that is served until the app is open, with one gauge. The app has its own registry. */
function createWaitingRegistry(): Registry {
  const registry = new Registry()
  const help = '1 while the app waits for its startup dependencies'
  new Gauge({ name: 'waiting_to_start', help, registers: [registry] }).set(1)
  return registry
}

/** A host name in a reserved top-level domain (RFC 2606 §2), so no public request has it by accident. */
export const GATEWAY_CHECK_HOST = 'gateway-check.invalid'

/**
 * Wraps `handler` to respond to a gateway's health check, `GET /` with the host `GATEWAY_CHECK_HOST`: 204 while this
 * instance serves, 503 before it listens and once it drains. `/ready` would be unsuitable, because it fails on every
 * instance when a shared store is down. A forwarded request, and any request from an address that is not a trusted
 * proxy, goes to `handler`.
 *
 * @param options.trustedProxies the proxies that may send the check; by default, anybody may
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
    (trustedProxies?.has(getSocketAddress(socket)) ?? true)
  return (request, response) => {
    if (!isCheck(request)) return handler(request, response)
    // Closes the connection, because the next check may have to reach another instance at the same address.
    return response
      .writeHead(isServing() ? 204 : 503, { 'cache-control': 'no-store', connection: 'close' })
      .end()
  }
}

const ERROR_EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Logs an uncaught error and exits with 1, because the process's state is then unknown. Node's own handler would print
 * the error unredacted. Disposing of the returned object restores Node's handlers.
 *
 * Also ignores SIGUSR1, which would open Node's debugger. A debugger can read every secret of the process.
 */
export function exitOnUncaughtErrors(log: Log): Disposable {
  const exit = (error: unknown) => {
    log.error('the process ends after an uncaught error', { error })
    process.exit(1)
  }
  const ignore = () => undefined
  for (const event of ERROR_EVENTS) process.on(event, exit)
  process.on('SIGUSR1', ignore)
  return {
    [Symbol.dispose]() {
      for (const event of ERROR_EVENTS) process.off(event, exit)
      process.off('SIGUSR1', ignore)
    },
  }
}
