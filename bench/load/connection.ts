import { connect, type Socket } from 'node:net'

/** Receives the status of a response, or 0 if none could be read. */
type ResponseCallback = (status: number) => void

/**
 * A persistent connection with at most one request in flight. If the server has closed it, the next request opens a new one.
 */
export interface Connection extends Disposable {
  /**
   * Sends the bytes of a complete request. `onResponse` is called once, but never if the connection is disposed of first.
   *
   * @throws {Error} if the previous request has no response yet
   */
  send(request: Buffer, onResponse: ResponseCallback): void
}

/**
 * Creates a connection to a port on loopback. It connects at the first request.
 *
 * @param localAddress the client's address, such as `127.1.0.5`. Limits count the requests of an address
 */
export function openConnection(port: number, localAddress = '127.0.0.1'): Connection {
  let socket: Socket | undefined
  let pendingCallback: ResponseCallback | undefined
  let received: Buffer | undefined

  function finish(status: number): void {
    const onResponse = pendingCallback
    pendingCallback = undefined
    received = undefined
    onResponse?.(status)
  }

  function openSocket(): Socket {
    const newSocket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    const handleLoss = () => {
      // The connection no longer uses this socket.
      if (socket !== newSocket) return
      socket = undefined
      finish(0)
    }
    newSocket.on('error', handleLoss).on('close', handleLoss)
    newSocket.on('data', (chunk) => {
      if (socket !== newSocket || !pendingCallback) return
      received = received ? Buffer.concat([received, chunk]) : chunk
      const response = readResponse(received)
      if (response.kind === 'partial') return
      // The callback may send the next request, which must then open a socket of its own.
      const mustClose = response.kind === 'unreadable' || response.closesConnection
      if (mustClose) socket = undefined
      finish(response.kind === 'complete' ? response.status : 0)
      if (mustClose) newSocket.destroy()
    })
    return newSocket
  }

  return {
    send(request, onResponse) {
      if (pendingCallback) throw new Error('one request at a time')
      pendingCallback = onResponse
      socket ??= openSocket()
      socket.write(request)
    },
    [Symbol.dispose]() {
      const lastSocket = socket
      socket = undefined
      lastSocket?.destroy()
    },
  }
}

/** The result of parsing: a complete response, a part of one, or unreadable bytes. */
type ParsedResponse =
  | { readonly kind: 'partial' }
  | { readonly kind: 'complete'; readonly status: number; readonly closesConnection: boolean }
  | { readonly kind: 'unreadable' }

const PARTIAL = { kind: 'partial' } as const
const UNREADABLE = { kind: 'unreadable' } as const
const END_OF_HEAD = Buffer.from('\r\n\r\n')
/** The last chunk, after the line end of the head or of the chunk before it. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

/**
 * Parses an HTTP/1.1 response with a Content-Length, in chunks or with the status 204 or 304. Supports neither interim responses,
 * responses to HEAD nor trailers. Chunked content counts as complete once the received bytes end with the last chunk, because
 * the work of a complete parser would be measured too. So content is cut off if a packet of it ends with these bytes.
 *
 * @param received the bytes from the beginning of the response
 */
export function readResponse(received: Buffer): ParsedResponse {
  const headEnd = received.indexOf(END_OF_HEAD)
  if (headEnd < 0) return PARTIAL
  const head = received.toString('latin1', 0, headEnd)
  // The three digits after `HTTP/1.1 `.
  const status = Number(head.slice(9, 12))
  // The comparison also fails for a status that is not a number. Interim responses (1xx) are not supported.
  if (!head.startsWith('HTTP/1.1 ') || !(status >= 200)) return UNREADABLE
  const complete = {
    kind: 'complete',
    status,
    closesConnection: /\r\nconnection: close/i.test(head),
  } as const
  if (/\r\ntransfer-encoding: chunked/i.test(head))
    return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? complete : PARTIAL
  const length = status === 204 || status === 304 ? '0' : /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) return UNREADABLE
  const missingBytes = headEnd + END_OF_HEAD.length + Number(length) - received.length
  if (missingBytes > 0) return PARTIAL
  // Nothing may follow the response, because only one request is in flight.
  return missingBytes < 0 ? UNREADABLE : complete
}
