import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type ProblemCode, problemKind } from './problems.ts'

export interface RunningServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
}

export interface ServeOptions {
  /** 0 picks a free port; read it back from `port`. */
  port: number
  /** The address to bind, such as `127.0.0.1`. */
  host: string
  /** How long requests in flight may still take when the server is disposed. */
  drainSeconds: number
}

/** Bounds on what a client may keep open: headers 10 s, a whole request 15 s, an idle connection 5 s. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16 * 1024,
}

/**
 * Serves `handler` until disposed. Disposing stops accepting, lets requests in flight finish for
 * `drainSeconds`, then cuts what is left.
 *
 * @throws the listen error, such as `EADDRINUSE`
 */
export async function serve(handler: RequestListener, options: ServeOptions): Promise<RunningServer> {
  const server = createServer({ ...LIMITS, connectionsCheckingInterval: 1_000 }, handler)
  server.maxRequestsPerSocket = 1_000
  server.on('clientError', answerUnreadable)
  server.on('checkExpectation', (_request, response) => {
    response.writeHead(417, {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(unreadable('expectation-failed'))
  })
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const drain = drainable(server)
  return {
    port,
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    [Symbol.asyncDispose]: () => drain(options.drainSeconds),
  }
}

function drainable(server: Server): (seconds: number) => Promise<void> {
  let draining = false
  server.on('request', (_request, response) => {
    if (draining) response.setHeader('connection', 'close')
  })
  return async (seconds) => {
    draining = true
    const closed = once(server, 'close')
    server.close()
    // close() ends only what is idle now; a keep-alive connection that falls idle later would hold it 5 s.
    const sweep = setInterval(() => server.closeIdleConnections(), 50)
    const cut = setTimeout(() => server.closeAllConnections(), seconds * 1000)
    await closed
    clearInterval(sweep)
    clearTimeout(cut)
  }
}

const UNREADABLE: Record<string, ProblemCode> = { HPE_HEADER_OVERFLOW: 'headers-too-large' }

/** A request that Node's parser refused: answered as a problem, then the connection is closed. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket | NodeJS.WritableStream): void {
  if (!(socket as Socket).writable || error.code === 'ECONNRESET') return void (socket as Socket).destroy()
  const code = UNREADABLE[error.code ?? ''] ?? 'invalid-request'
  const { status, title } =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? { status: 408, title: 'Request Timeout' } : problemKind(code)
  const body = unreadable(code)
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
  )
}

function unreadable(code: ProblemCode): string {
  const { status, title, meaning, remedy } = problemKind(code)
  return JSON.stringify({ type: 'about:blank', title, status, detail: `${meaning} ${remedy}`, code })
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
