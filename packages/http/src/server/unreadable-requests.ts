import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { oauthDescription, oauthError, Problem, problemDocument } from '../problems/problem.ts'
import type { ProblemCode } from '../problems/problems.ts'
import { commonHeaders, type RequestHandler } from '../request/request-context.ts'

const CODES: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'content-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}
/** How long a refused client may go on sending, so that it reads the response instead of a connection reset. */
const LINGER_MS = 500

/**
 * Refuses requests that never reach a handler: those that Node's parser rejects, those that are not complete in time, and
 * those with an unknown `Expect`. Each response is sent after those of earlier requests on the connection, which is then
 * closed.
 *
 * @param origin for `type`; `about:blank` without it (RFC 9457 §4.2.1)
 * @param inTurn makes a response wait for the earlier ones of its connection
 */
export function refuseUnreadable(
  server: Server,
  origin: string | undefined,
  inTurn: (handler: RequestHandler) => RequestHandler,
): void {
  const latest = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>()
  const refused = new WeakSet<Socket>()
  server.prependListener('request', (request, response) => {
    latest.set(request.socket, { request, response })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket
    if (refused.has(socket)) return
    refused.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const refusal = refusalFor(CODES[error.code ?? ''] ?? 'invalid-request', origin)
    const before = latest.get(socket)
    if (before && !before.request.complete) {
      // The handler already has this request, whose rest cannot be read. It gets one response only.
      if (before.response.headersSent) return void socket.destroy()
      // The handler is already refusing it as too large.
      if (before.response.statusCode === 413) return
      return send(before.response, refusal)
    }
    if (!before || before.response.writableFinished) return writeAndClose(socket, refusal)
    before.response.once('finish', () => writeAndClose(socket, refusal))
  })
  server.on(
    'checkExpectation',
    inTurn((_request, response) => send(response, refusalFor('expectation-failed', origin))),
  )
}

/**
 * Refuses every transfer coding except `chunked` (RFC 9112 §7). Node accepts a list that ends with `chunked`, for which a
 * proxy might find another end of the body (request smuggling).
 */
export function refuseUnknownCodings(handler: RequestHandler, origin: string | undefined): RequestHandler {
  return (request, response) => {
    const coding = request.headers['transfer-encoding']
    const isKnown = coding === undefined || /^chunked$/i.test(coding)
    return isKnown ? handler(request, response) : send(response, refusalFor('invalid-request', origin))
  }
}

interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function refusalFor(code: ProblemCode, origin: string | undefined): Refusal {
  const requestId = randomUUID()
  const at = { origin: origin ?? '', path: '', requestId }
  const { instance: _none, ...problem } = problemDocument(new Problem(code), at)
  const body = JSON.stringify({
    ...problem,
    type: origin === undefined ? 'about:blank' : problem.type,
    error: oauthError(code),
    error_description: oauthDescription(problem.detail),
  })
  const headers = {
    ...commonHeaders(origin ?? ''),
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
  const cut = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(cut))
}
