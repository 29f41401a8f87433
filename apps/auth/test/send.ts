import { connect } from 'node:net'

/** A response that `send` or `sendRaw` received. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The milliseconds until `send` had the whole response, or until `sendRaw` had all responses. */
  readonly durationMs: number
}

export interface HttpRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  /** A stream is sent in chunks (`Transfer-Encoding: chunked`), as the test writes them. */
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams | ReadableStream | undefined
}

/** Sends a request and follows no redirects. */
export async function send(baseUrl: string, { path, ...init }: HttpRequest): Promise<HttpResponse> {
  const startedAt = performance.now()
  const response = await fetch(new URL(path, baseUrl), {
    redirect: 'manual',
    duplex: 'half',
    ...init,
  } as RequestInit)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    durationMs: performance.now() - startedAt,
  }
}

/**
 * Sends bytes unchanged, even bytes that HTTP libraries would refuse to send. Waits until the server closes the connection,
 * so the last request should contain `Connection: close`. Parses only responses without a body or with `Content-Length`.
 *
 * @returns the responses, in the order in which they arrived. Rejects if the connection fails or is idle for 5 s
 */
export async function sendRaw(baseUrl: string, bytes: string | Uint8Array): Promise<HttpResponse[]> {
  const startedAt = performance.now()
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(bytes)
  const chunks: Buffer[] = []
  socket.setTimeout(5_000, () => socket.destroy())
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const responses: HttpResponse[] = []
  // In Latin-1, each byte is one character, so lengths and positions count bytes.
  let remainingText = Buffer.concat(chunks).toString('latin1')
  while (remainingText !== '') {
    const headEnd = remainingText.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = remainingText.slice(0, headEnd).split('\r\n')
    const headers = new Headers(lines.map(splitHeaderLine))
    const length = Number(headers.get('content-length') ?? 0)
    const bodyStart = headEnd + 4
    const body = remainingText.slice(bodyStart, bodyStart + length)
    responses.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      text: Buffer.from(body, 'latin1').toString('utf8'),
      durationMs: performance.now() - startedAt,
    })
    remainingText = remainingText.slice(bodyStart + length)
  }
  return responses
}

/** Splits a line at the first colon. */
const splitHeaderLine = (line: string) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]

/**
 * Formats a request for `sendRaw`. Adds the HTTP version, the headers `Host` and `Connection: close`, and line endings. Adds no
 * `Content-Length`: the caller passes it in `headers` if there is a body.
 */
export function formatRawRequest(
  methodAndTarget: string,
  headers: readonly string[],
  body = '',
  host = 'plainpath.example',
): string {
  return [`${methodAndTarget} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers, '', body].join(
    '\r\n',
  )
}
