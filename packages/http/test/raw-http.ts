import { connect } from 'node:net'

interface RawResponse {
  readonly status: number
  /** The headers by lower-case name. Of several headers with one name, only the last is included. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Conversation {
  readonly responses: readonly RawResponse[]
  /** True if the server ended the connection. */
  readonly closed: boolean
}

/**
 * Sends bytes unchanged. Reads until the server ends the connection, or has sent `options.responses` complete
 * responses. Has no time limit. Understands `Content-Length`, but no chunked responses.
 *
 * @param options.bodiless true if the responses have no bodies, as for HEAD
 */
export async function converse(
  port: number,
  bytes: string | Buffer,
  options: { responses?: number; bodiless?: boolean } = {},
): Promise<Conversation> {
  const socket = connect({ port, host: '127.0.0.1' })
  const { promise, resolve, reject } = Promise.withResolvers<Conversation>()
  let receivedText = ''
  const resolveIfComplete = (closed: boolean) => {
    const responses = parseResponses(receivedText, options.bodiless ?? false)
    if (closed || responses.length === options.responses) resolve({ responses, closed })
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    receivedText += chunk
    resolveIfComplete(false)
  })
  socket.on('end', () => resolveIfComplete(true))
  // A reset also ends the connection. The bytes that arrived before it are parsed.
  socket.on('close', () => resolveIfComplete(true))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // A server that refuses a request may close the connection before all bytes are written.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
  })
  socket.write(bytes)
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

/** Parses all complete responses in the text, and leaves out interim ones (1xx). */
function parseResponses(text: string, bodiless: boolean): RawResponse[] {
  const responses: RawResponse[] = []
  for (let remainingText = text; ; ) {
    const head = /^HTTP\/1\.1 (?<status>\d{3})[^\r\n]*\r\n(?<lines>(?:[^\r\n]+\r\n)*)\r\n/.exec(remainingText)
    if (!head?.groups) return responses
    const { status = '', lines = '' } = head.groups
    const headers = Object.fromEntries(
      lines
        .split('\r\n')
        .filter(Boolean)
        .map((line) => [
          line.slice(0, line.indexOf(':')).toLowerCase(),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
    )
    const length = bodiless || status.startsWith('1') ? 0 : Number(headers['content-length'] ?? 0)
    const body = remainingText.slice(head[0].length, head[0].length + length)
    if (body.length < length) return responses
    if (!status.startsWith('1')) responses.push({ status: Number(status), headers, body })
    remainingText = remainingText.slice(head[0].length + length)
  }
}

/** Formats the head of a request: its lines with HTTP line endings, and the empty line after them. */
export const formatHead = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
