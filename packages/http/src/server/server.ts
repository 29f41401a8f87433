import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { RequestHandler } from '../request/request-context.ts'
import { answerUnreadable, refuseUnknownCodings } from './unreadable-requests.ts'

export interface RunningServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** From now on each answer ends its connection, so that clients make their next one elsewhere. New ones are taken. */
  disableKeepAlive(): void
}

/** Bounds on what a client may keep open, under Node's names. */
const LIMITS = {
  /** From the first byte, or from the connection, to the end of the headers. */
  headersTimeout: 10_000,
  /** To the end of the body. */
  requestTimeout: 15_000,
  /** Between two requests. */
  keepAliveTimeout: 5_000,
  /** On which nothing moves in either direction, as when a client does not read its answer. */
  timeout: 30_000,
  /** How often the first two are looked at, so how late a connection may be cut. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
  /** Beyond these, new connections are closed at once. */
  maxConnections: 4_096,
  maxRequestsPerSocket: 1_000,
}

export interface ServeOptions {
  /** 0 picks a free port; read it back from `port`. */
  port: number
  /** The address to bind, such as `127.0.0.1`. */
  host: string
  /** How long requests in flight may still take when the server is disposed. */
  drainSeconds: number
  /** The public origin, named where a request is refused before any handler sees it. */
  origin?: string
  limits?: Partial<typeof LIMITS>
}

/**
 * Serves `handler` until disposed. Disposing stops accepting, lets requests in flight finish for
 * `drainSeconds`, then cuts what is left.
 *
 * @throws the listen error, such as `EADDRINUSE`
 */
export async function serve(handler: RequestHandler, options: ServeOptions): Promise<RunningServer> {
  const inTurn = oneAtATime()
  const { track, disableKeepAlive, drain } = drains()
  const known = refuseUnknownCodings(handler, options.origin)
  const { timeout, maxConnections, maxRequestsPerSocket, ...limits } = { ...LIMITS, ...options.limits }
  // Node would answer a missing Host without a body; `requireHost` says what is wrong.
  const server = createServer({ ...limits, requireHostHeader: false }, inTurn(track(known)))
  Object.assign(server, { timeout, maxConnections, maxRequestsPerSocket })
  answerUnreadable(server, options.origin, inTurn)
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

/** `track` knows what is being answered; `disableKeepAlive` ends connections with their answers; `drain` ends the server, and ends it once, however often it is called. */
function drains() {
  const open = new Set<ServerResponse>()
  let leaving = false
  let ended: Promise<void> | undefined
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
  async function end(server: Server, seconds: number): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    disableKeepAlive()
    // close() ends only what is idle now; a keep-alive connection that falls idle later would hold it 5 s.
    const sweep = setInterval(() => server.closeIdleConnections(), 50)
    const cut = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    await closed
    clearInterval(sweep)
    clearTimeout(cut)
  }
  const drain = (server: Server, seconds: number) => {
    ended ??= end(server, seconds)
    return ended
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
 * Gives the requests of one connection to their handlers one after the other, and none after an answer that ends the
 * connection (RFC 9112 §9.3.2, §9.6). Node alone would begin them all as they are read, and carry out what its sender
 * cannot be told of.
 *
 * @returns what makes a handler wait for its turn; all handlers of one server take turns with each other
 */
function oneAtATime(): (handle: RequestHandler) => RequestHandler {
  /** What waits on a connection on which something is being answered. */
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
      // What could not be read to its end was refused while it waited.
      if (!response.writableEnded) handle(request, response)
    }
    const queue = waiting.get(socket)
    if (queue) return void queue.push(begin)
    waiting.set(socket, [])
    begin()
  }
}
