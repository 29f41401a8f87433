import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { RequestHandler } from '../request/request-context.ts'
import { refuseUnknownCodings, refuseUnreadable } from './unreadable-requests.ts'

/*
 * An HTTP listener: connection limits, the order of requests on a connection, and draining. Routes, problems and the
 * life cycle of the process belong elsewhere (`routing/`, `problems/`, `run-app.ts`).
 */

export interface RunningServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Closes each connection with its next response, so clients reconnect elsewhere. Still accepts new connections. */
  disableKeepAlive(): void
}

/** The connection limits, under Node's names. Times are in milliseconds. */
const LIMITS = {
  /** The maximum time from the first byte, or from the start of the connection, to the end of the headers. */
  headersTimeout: 10_000,
  /** The maximum time from the first byte to the end of the body. */
  requestTimeout: 15_000,
  /** The maximum time between a response and the next request. */
  keepAliveTimeout: 5_000,
  /** The maximum time without a byte in either direction, for example because a client does not read its response. */
  timeout: 30_000,
  /** How often Node checks `headersTimeout` and `requestTimeout`. A connection may be closed this much too late. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
  /** With this many open connections, new ones are closed immediately. */
  maxConnections: 4_096,
  maxRequestsPerSocket: 1_000,
}

export interface ServeOptions {
  /** 0 picks a free port; `RunningServer.port` has its number. */
  port: number
  /** The address to bind, such as `127.0.0.1`. */
  host: string
  /** How long requests in flight may take once the server is disposed of. */
  drainSeconds: number
  /** The public origin, for the error responses to requests that do not reach a handler. */
  origin?: string
  limits?: Partial<typeof LIMITS>
}

/**
 * Serves `handler` until the server is disposed of. Disposing stops accepting connections, gives requests in flight
 * `drainSeconds` to finish, and then closes the remaining connections.
 *
 * @throws the listen error, such as `EADDRINUSE`
 */
export async function serve(handler: RequestHandler, options: ServeOptions): Promise<RunningServer> {
  const queueRequests = createRequestQueue()
  const { track, disableKeepAlive, drain } = createDrain()
  const safeHandler = refuseUnknownCodings(handler, options.origin)
  const { timeout, maxConnections, maxRequestsPerSocket, ...limits } = { ...LIMITS, ...options.limits }
  // Node would refuse a missing Host header with an empty response. `requireHost` explains the mistake.
  const server = createServer({ ...limits, requireHostHeader: false }, queueRequests(track(safeHandler)))
  Object.assign(server, { timeout, maxConnections, maxRequestsPerSocket })
  refuseUnreadable(server, options.origin, queueRequests)
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    disableKeepAlive,
    [Symbol.asyncDispose]: () => drain(server, options.drainSeconds),
  }
}

/**
 * Creates three functions that share the open responses: `track` wraps a handler to record them, `disableKeepAlive`
 * closes connections with their next response, and `drain` closes the server. Repeated calls of `drain` share one run.
 */
function createDrain() {
  const openResponses = new Set<ServerResponse>()
  let isClosing = false
  let closePromise: Promise<void> | undefined
  const closeConnectionAfter = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close')
  }
  const track =
    (handler: RequestHandler): RequestHandler =>
    (request, response) => {
      openResponses.add(response)
      response.on('close', () => openResponses.delete(response))
      if (isClosing) closeConnectionAfter(response)
      return handler(request, response)
    }
  function disableKeepAlive(): void {
    isClosing = true
    for (const response of openResponses) closeConnectionAfter(response)
  }
  async function close(server: Server, seconds: number): Promise<void> {
    const closeEvent = once(server, 'close')
    server.close()
    disableKeepAlive()
    // close() closes only connections that are idle now. A connection that becomes idle later would delay it by 5 s.
    const idleCloseTimer = setInterval(() => server.closeIdleConnections(), 50)
    const forceCloseTimer = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    await closeEvent
    clearInterval(idleCloseTimer)
    clearTimeout(forceCloseTimer)
  }
  const drain = (server: Server, seconds: number) => {
    closePromise ??= close(server, seconds)
    return closePromise
  }
  return { track, disableKeepAlive, drain }
}

/** Waits for SIGTERM or SIGINT. A second signal kills the process, which is Node's default. */
export async function waitForShutdownSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const signals = ['SIGTERM', 'SIGINT'] as const
  const onSignal = (signal: NodeJS.Signals) => {
    for (const name of signals) process.off(name, onSignal)
    resolve(signal)
  }
  for (const name of signals) process.on(name, onSignal)
  return promise
}

/**
 * Handles a connection's pipelined requests one after the other, and none after a response that closes the connection
 * (RFC 9112 §9.3.2, §9.6). Node would start each request as soon as it is read, even if its response can no longer be
 * sent.
 *
 * @returns a function that wraps a handler to wait for its turn. All handlers that it wraps share one order
 */
function createRequestQueue(): (handle: RequestHandler) => RequestHandler {
  /** Waiting requests, by connection. A connection is in the map while one of its requests is being handled. */
  const queues = new WeakMap<Socket, (() => void)[]>()
  const handleNext = (socket: Socket) => {
    const handleWaiting = socket.writable ? queues.get(socket)?.shift() : undefined
    if (handleWaiting) handleWaiting()
    else queues.delete(socket)
  }
  return (handle) => (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const handleNow = () => {
      response.on('close', () => handleNext(socket))
      // The request may have been refused while it waited, because its body could not be read to the end.
      if (!response.writableEnded) handle(request, response)
    }
    const queue = queues.get(socket)
    if (queue) return void queue.push(handleNow)
    queues.set(socket, [])
    handleNow()
  }
}
