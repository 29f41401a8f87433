import { connect } from 'node:net'
import type { HttpResponse } from './send.ts'

export interface Conversation {
  /**
   * Complete responses, without interim ones (1xx). A body is read up to its Content-Length, so the `text` of a
   * chunked response is empty.
   */
  readonly responses: readonly HttpResponse[]
  /** Statuses of interim responses. */
  readonly interim: readonly number[]
  /** True if the server closed the connection. False if `responses` or `forMs` stopped the reading before. */
  readonly closed: boolean
  /** The milliseconds from connecting to the end of the reading. */
  readonly ms: number
}

export interface ConverseOptions {
  /** Stops reading after this number of responses. */
  readonly responses?: number
  /** Stops reading after this time. The default is 5 s. */
  readonly forMs?: number
}

/** Sends the exact bytes, and reads until the server closes the connection or one of the options stops it. */
export async function converse(
  url: string,
  bytes: string | Uint8Array,
  { responses: expectedCount = Infinity, forMs = 5_000 }: ConverseOptions = {},
): Promise<Conversation> {
  const { hostname, port } = new URL(url)
  const startedAt = performance.now()
  // The servers of the tests listen on 127.0.0.1, but `localhost` can also mean ::1.
  const socket = connect(Number(port), hostname === 'localhost' ? '127.0.0.1' : hostname)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let received = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    if (parseResponses(received, 0).responses.length >= expectedCount) resolve(false)
  })
  // After an error, such as a reset, the socket emits `close`. The data that arrived before it is parsed.
  socket.on('error', () => undefined)
  socket.on('close', () => resolve(true))
  // oxlint-disable-next-line no-restricted-globals -- bounds the time for reading
  const timer = setTimeout(() => resolve(false), forMs)
  // In Latin-1, each character up to \xff is one byte.
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  const closed = await promise
  clearTimeout(timer)
  socket.destroy()
  const ms = performance.now() - startedAt
  return { ...parseResponses(received, ms), closed, ms }
}

/** Parses the complete responses. Ignores an incomplete one at the end. @param ms recorded in each response */
function parseResponses(received: Buffer, ms: number): Pick<Conversation, 'responses' | 'interim'> {
  const responses: HttpResponse[] = []
  const interim: number[] = []
  let unparsed = received
  for (;;) {
    const headEnd = unparsed.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = unparsed
      .subarray(0, Math.max(0, headEnd))
      .toString('latin1')
      .split('\r\n')
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]
    if (status === undefined) return { responses, interim }
    const headers = new Headers(
      lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    )
    unparsed = unparsed.subarray(headEnd + 4)
    if (status.startsWith('1')) {
      interim.push(Number(status))
      continue
    }
    const length = Number(headers.get('content-length') ?? 0)
    if (unparsed.length < length) return { responses, interim }
    const text = unparsed.subarray(0, length).toString('utf8')
    responses.push({ status: Number(status), headers, text, ms })
    unparsed = unparsed.subarray(length)
  }
}

/** Formats a request whose first header is `Host`. Adds no header that describes the body. @param methodAndTarget such as `GET /api` */
export const formatRequest = (
  methodAndTarget: string,
  host: string,
  headers: readonly string[] = [],
  body = '',
) => [`${methodAndTarget} HTTP/1.1`, `Host: ${host}`, ...headers, '', body].join('\r\n')
