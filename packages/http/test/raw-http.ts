import { connect } from 'node:net'

interface RawResponse {
  readonly status: number
  /** Names in lower case; of several headers with one name, the last. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Conversation {
  readonly responses: readonly RawResponse[]
  /** True when the server ended the connection. */
  readonly closed: boolean
}

/**
 * Sends bytes exactly as they are, and reads until the server ends the connection or, if `answers` is given, until
 * so many answers came.
 */
export async function converse(
  port: number,
  bytes: string | Buffer,
  options: { responses?: number; bodiless?: boolean } = {},
): Promise<Conversation> {
  const socket = connect({ port, host: '127.0.0.1' })
  const { promise, resolve, reject } = Promise.withResolvers<Conversation>()
  let received = ''
  const read = (closed: boolean) => {
    const responses = parseResponses(received, options.bodiless ?? false)
    if (closed || responses.length === options.responses) resolve({ responses, closed })
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    received += chunk
    read(false)
  })
  socket.on('end', () => read(true))
  // A reset ends the connection too; what came before it counts.
  socket.on('close', () => read(true))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
  })
  socket.write(bytes)
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

/** All whole answers in the text, without interim ones (1xx). */
function parseResponses(text: string, bodiless: boolean): RawResponse[] {
  const responses: RawResponse[] = []
  for (let rest = text; ; ) {
    const head = /^HTTP\/1\.1 (?<status>\d{3})[^\r\n]*\r\n(?<lines>(?:[^\r\n]+\r\n)*)\r\n/.exec(rest)
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
    const body = rest.slice(head[0].length, head[0].length + length)
    if (body.length < length) return responses
    if (!status.startsWith('1')) responses.push({ status: Number(status), headers, body })
    rest = rest.slice(head[0].length + length)
  }
}

/** The lines of a request head, ended as HTTP has it. */
export const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
