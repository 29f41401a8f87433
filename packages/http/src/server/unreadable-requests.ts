import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { createProblemDocument, Problem, toOauthDescription, toOauthError } from '../problems/problem.ts'
import type { ProblemCode } from '../problems/problems.ts'
import { createCommonHeaders, type RequestHandler } from '../request/request-context.ts'

/** The problems for some error codes of Node's HTTP server. Requests with other errors are refused as `invalid-request`. */
const PROBLEM_CODES_BY_ERROR: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'content-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}
/** How long a refused client may continue to send. An immediate close would send a reset, not the response. */
const LINGER_MS = 500

/**
 * Refuses requests that Node's parser rejects, that are not complete in time, or that have an unknown `Expect`. Most of
 * them never reach the handler, but it may have started on a request whose body turns out to be unreadable. Each
 * refusal is sent after the connection's earlier responses, and then the connection is closed.
 *
 * @param origin the origin of `type`; without it, `type` is `about:blank` (RFC 9457 §4.2.1)
 * @param queueRequests makes a response wait for the connection's earlier responses
 */
export function refuseUnreadable(
  server: Server,
  origin: string | undefined,
  queueRequests: (handler: RequestHandler) => RequestHandler,
): void {
  const latestExchanges = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>()
  const refusedSockets = new WeakSet<Socket>()
  server.prependListener('request', (request, response) => {
    latestExchanges.set(request.socket, { request, response })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket
    if (refusedSockets.has(socket)) return
    refusedSockets.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const refusal = createRefusal(PROBLEM_CODES_BY_ERROR[error.code ?? ''] ?? 'invalid-request', origin)
    const latestExchange = latestExchanges.get(socket)
    if (latestExchange && !latestExchange.request.complete) {
      // The handler already has this request, whose rest cannot be read. Send only one response to it.
      if (latestExchange.response.headersSent) return void socket.destroy()
      // The handler is already refusing it as too large.
      if (latestExchange.response.statusCode === 413) return
      return send(latestExchange.response, refusal)
    }
    if (!latestExchange || latestExchange.response.writableFinished) return writeAndClose(socket, refusal)
    latestExchange.response.once('finish', () => writeAndClose(socket, refusal))
  })
  server.on(
    'checkExpectation',
    queueRequests((_request, response) => send(response, createRefusal('expectation-failed', origin))),
  )
}

/**
 * Wraps `handler` to refuse every transfer coding except `chunked` (RFC 9112 §7). Node accepts a list that ends with
 * `chunked`, but a proxy might find another end of the body (request smuggling).
 */
export function refuseUnknownCodings(handler: RequestHandler, origin: string | undefined): RequestHandler {
  return (request, response) => {
    const coding = request.headers['transfer-encoding']
    const isKnown = coding === undefined || /^chunked$/i.test(coding)
    return isKnown ? handler(request, response) : send(response, createRefusal('invalid-request', origin))
  }
}

interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function createRefusal(code: ProblemCode, origin: string | undefined): Refusal {
  const requestId = randomUUID()
  const request = { origin: origin ?? '', path: '', requestId }
  const { instance: _noPath, ...problem } = createProblemDocument(new Problem(code), request)
  const body = JSON.stringify({
    ...problem,
    type: origin === undefined ? 'about:blank' : problem.type,
    error: toOauthError(code),
    error_description: toOauthDescription(problem.detail),
  })
  const headers = {
    ...createCommonHeaders(origin ?? ''),
    'x-request-id': requestId,
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  return { status: problem.status, headers, body }
}

function send(response: ServerResponse, { status, headers, body }: Refusal): void {
  response.writeHead(status, headers).end(body)
}

function writeAndClose(socket: Socket, { status, headers, body }: Refusal): void {
  if (!socket.writable) return
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  const destroyTimer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(destroyTimer))
}
