import { connect, type Socket } from 'node:net'

/** The status of a response, or 0 when none could be read. */
type Answered = (status: number) => void

/** A persistent connection with at most one request in flight. It reconnects when the server closes it. */
export interface Connection extends Disposable {
  /** Sends the bytes of a complete request. */
  send(request: Buffer, answered: Answered): void
}

export function openConnection(port: number): Connection {
  let socket: Socket | undefined
  let waiting: Answered | undefined
  let received: Buffer | undefined

  function over(status: number): void {
    const answered = waiting
    waiting = undefined
    received = undefined
    answered?.(status)
  }

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true })
    const lost = () => {
      if (socket !== opened) return
      socket = undefined
      over(0)
    }
    opened.on('error', lost).on('close', lost)
    opened.on('data', (chunk) => {
      if (socket !== opened || !waiting) return
      received = received ? Buffer.concat([received, chunk]) : chunk
      const response = readResponse(received)
      if (response.kind === 'partial') return
      const ended = response.kind === 'unreadable' || response.closes
      if (ended) socket = undefined
      over(response.kind === 'whole' ? response.status : 0)
      if (ended) opened.destroy()
    })
    return opened
  }

  return {
    send(request, answered) {
      if (waiting) throw new Error('one request at a time')
      waiting = answered
      socket ??= open()
      socket.write(request)
    },
    [Symbol.dispose]() {
      const last = socket
      socket = undefined
      last?.destroy()
    },
  }
}

/** A complete response, or the reason why it cannot be parsed. */
type ParsedResponse =
  | { readonly kind: 'partial' }
  | { readonly kind: 'whole'; readonly status: number; readonly closes: boolean }
  | { readonly kind: 'unreadable' }

const PARTIAL = { kind: 'partial' } as const
const UNREADABLE = { kind: 'unreadable' } as const
const END_OF_HEAD = Buffer.from('\r\n\r\n')

/**
 * Parses an HTTP/1.1 response with a Content-Length, which all measured servers send. A complete client would
 * measure its own work.
 *
 * @param received the bytes from the beginning of the response
 */
export function readResponse(received: Buffer): ParsedResponse {
  const end = received.indexOf(END_OF_HEAD)
  if (end < 0) return PARTIAL
  const head = received.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  if (!head.startsWith('HTTP/1.1 ') || !(status >= 200)) return UNREADABLE
  const length = status === 204 || status === 304 ? '0' : /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) return UNREADABLE
  const missing = end + END_OF_HEAD.length + Number(length) - received.length
  if (missing > 0) return PARTIAL
  if (missing < 0) return UNREADABLE
  return { kind: 'whole', status, closes: /\r\nconnection: close/i.test(head) }
}
