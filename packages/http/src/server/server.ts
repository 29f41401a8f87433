import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { RequestHandler } from '../request/request-context.ts'
import { refuseUnknownCodings, refuseUnreadable } from './unreadable-requests.ts'

/*
 * One HTTP listener: bounds on what a client may keep open, requests of one connection in order, and draining. Routes,
 * problems and the life cycle of the process belong elsewhere (`routing/`, `problems/`, `run-app.ts`).
 */

export interface RunningServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Closes every connection with its next response, so that clients reconnect to another instance. Still accepts new ones. */
  disableKeepAlive(): void
}

/** Bounds on what a client may keep open, under the names of Node. Times are in milliseconds. */
const LIMITS = {
  /** From the first byte, or from the start of the connection, to the end of the headers. */
  headersTimeout: 10_000,
  /** To the end of the body. */
  requestTimeout: 15_000,
  /** Between two requests. */
  keepAliveTimeout: 5_000,
  /** Without a byte in either direction, as when a client does not read its response. */
  timeout: 30_000,
  /** How often the first two are checked, and so how late a connection may be closed. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
  /** Beyond this number, new connections are closed at once. */
  maxConnections: 4_096,
  maxRequestsPerSocket: 1_000,
}

export interface ServeOptions {
  /** 0 picks a free port; read it back from `port`. */
  port: number
  /** The address to bind, such as `127.0.0.1`. */
  host: string
  /** How long requests in flight may take once the server is disposed. */
  drainSeconds: number
  /** The public origin, for problems of requests that are refused before any handler sees them. */
  origin?: string
  limits?: Partial<typeof LIMITS>
}

/**
 * Serves `handler` until disposed. Disposing stops accepting, lets requests in flight finish for
 * `drainSeconds`, then closes the connections that are left.
 *
 * @throws the listen error, such as `EADDRINUSE`
 */
export async function serve(handler: RequestHandler, options: ServeOptions): Promise<RunningServer> {
  const inTurn = oneAtATime()
  const { track, disableKeepAlive, drain } = createDrain()
  const checked = refuseUnknownCodings(handler, options.origin)
  const { timeout, maxConnections, maxRequestsPerSocket, ...limits } = { ...LIMITS, ...options.limits }
  // Node would refuse a missing Host without a body; `requireHost` says what is wrong.
  const server = createServer({ ...limits, requireHostHeader: false }, inTurn(track(checked)))
  Object.assign(server, { timeout, maxConnections, maxRequestsPerSocket })
  refuseUnreadable(server, options.origin, inTurn)
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
 * `track` wraps a handler to know its open responses, `disableKeepAlive` closes connections with their next response, and
 * `drain` closes the server; repeated calls of it share one run.
 */
function createDrain() {
  const open = new Set<ServerResponse>()
  let leaving = false
  let drained: Promise<void> | undefined
  const closeAfter = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close')
  }
  const track =
    (handler: RequestHandler): RequestHandler =>
    (request, response) => {
      open.add(response)
      response.on('close', () => open.delete(response))
      if (leaving) closeAfter(response)
      return handler(request, response)
    }
  function disableKeepAlive(): void {
    leaving = true
    for (const response of open) closeAfter(response)
  }
  async function close(server: Server, seconds: number): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    disableKeepAlive()
    // close() closes only connections that are idle now; one that falls idle later would delay it by 5 s.
    const sweep = setInterval(() => server.closeIdleConnections(), 50)
    const cut = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    await closed
    clearInterval(sweep)
    clearTimeout(cut)
  }
  const drain = (server: Server, seconds: number) => {
    drained ??= close(server, seconds)
    return drained
  }
  return { track, disableKeepAlive, drain }
}

/** Resolves with the first of SIGTERM and SIGINT. A second signal kills the process, as Node does by default. */
export async function shutdownSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const signals = ['SIGTERM', 'SIGINT'] as const
  const done = (signal: NodeJS.Signals) => {
    for (const each of signals) process.off(each, done)
    resolve(signal)
  }
  for (const each of signals) process.on(each, done)
  return promise
}

/**
 * Handles pipelined requests of one connection one after the other, and none after a response that closes the connection
 * (RFC 9112 §9.3.2, §9.6). Node alone would start each as soon as it is read, and so carry out requests whose responses can
 * no longer be sent.
 *
 * @returns wraps a handler so that it waits for its turn. All wrapped handlers of one server share the order.
 */
function oneAtATime(): (handle: RequestHandler) => RequestHandler {
  /** The requests that wait, by connection. A connection is in the map while one of its requests is being handled. */
  const waiting = new WeakMap<Socket, (() => void)[]>()
  const next = (socket: Socket) => {
    const begin = socket.writable ? waiting.get(socket)?.shift() : undefined
    if (begin) begin()
    else waiting.delete(socket)
  }
  return (handle) => (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const begin = () => {
      response.on('close', () => next(socket))
      // A request whose body could not be read to its end was refused while it waited.
      if (!response.writableEnded) handle(request, response)
    }
    const queue = waiting.get(socket)
    if (queue) return void queue.push(begin)
    waiting.set(socket, [])
    begin()
  }
}
