import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { answerUnreadable, refuseUnknownCodings } from './unreadable-requests.ts'

/** Answers a request; `Koa.callback()` gives one, whose promise is its own business. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface RunningServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** From now on each answer ends its connection, so that clients make their next one elsewhere. New ones are taken. */
  lookAway(): void
}

/** Bounds on what a client may keep open. */
interface ConnectionLimits {
  /** From the first byte, or from the connection, to the end of the headers. */
  readonly headersTimeoutMs: number
  /** To the end of the body. */
  readonly requestTimeoutMs: number
  /** Between two requests. */
  readonly keepAliveTimeoutMs: number
  /** On which nothing moves in either direction, as when a client does not read its answer. */
  readonly silenceTimeoutMs: number
  /** How often the first two are looked at, so how late a connection may be cut. */
  readonly checkIntervalMs: number
  readonly maxHeaderBytes: number
  /** Beyond these, new connections are closed at once. */
  readonly maxConnections: number
  readonly maxRequestsPerConnection: number
}

const LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 5_000,
  silenceTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 4_096,
  maxRequestsPerConnection: 1_000,
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
  limits?: Partial<ConnectionLimits>
}

/**
 * Serves `handler` until disposed. Disposing stops accepting, lets requests in flight finish for
 * `drainSeconds`, then cuts what is left.
 *
 * @throws the listen error, such as `EADDRINUSE`
 */
export async function serve(handler: RequestHandler, options: ServeOptions): Promise<RunningServer> {
  const inTurn = oneAtATime()
  const { track, lookAway, drain } = drains()
  const known = refuseUnknownCodings(handler, options.origin)
  const server = boundedServer(inTurn(track(known)), { ...LIMITS, ...options.limits })
  answerUnreadable(server, options.origin, inTurn)
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    lookAway,
    [Symbol.asyncDispose]: () => drain(server, options.drainSeconds),
  }
}

function boundedServer(handler: RequestHandler, limits: ConnectionLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: limits.maxHeaderBytes,
      // Node would answer a missing Host without a body; `requireHost` says what is wrong.
      requireHostHeader: false,
    },
    handler,
  )
  server.timeout = limits.silenceTimeoutMs
  server.maxConnections = limits.maxConnections
  server.maxRequestsPerSocket = limits.maxRequestsPerConnection
  return server
}

/** `track` knows what is being answered; `lookAway` ends connections with their answers; `drain` ends the server, and ends it once, however often it is called. */
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
  function lookAway(): void {
    leaving = true
    for (const response of open) closeAfter(response)
  }
  async function end(server: Server, seconds: number): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    lookAway()
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
  return { track, lookAway, drain }
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

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/**
 * Gives the requests of one connection to their handlers one after the other, and none after an answer that ends the
 * connection (RFC 9112 §9.3.2, §9.6). Node alone would begin them all as they are read, and carry out what its sender
 * cannot be told of.
 *
 * @returns what makes a handler wait for its turn; all handlers of one server take turns with each other
 */
function oneAtATime(): (handle: Handler) => Handler {
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
