import { connect } from 'node:net'

/** A response, from any way of sending a request. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly ms: number
}

export interface HttpRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams | undefined
}

export async function send(baseUrl: string, { path, ...init }: HttpRequest): Promise<HttpResponse> {
  const startedAt = performance.now()
  const response = await fetch(new URL(path, baseUrl), { redirect: 'manual', ...init } as RequestInit)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, ms: performance.now() - startedAt }
}

/**
 * Sends bytes exactly as they are, for what HTTP libraries refuse to send; the request should contain `Connection: close`.
 *
 * @returns every response that arrived before the server closed the connection
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
  let rest = Buffer.concat(chunks).toString('latin1')
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]))
    const length = Number(headers.get('content-length') ?? 0)
    const text = Buffer.from(rest.slice(end + 4, end + 4 + length), 'latin1').toString('utf8')
    responses.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      text,
      ms: performance.now() - startedAt,
    })
    rest = rest.slice(end + 4 + length)
  }
  return responses
}

/** One request as text: a request line, header lines, a body; `Host` and `Connection: close` are added. */
export function rawRequest(
  line: string,
  headers: readonly string[],
  body = '',
  host = 'plainpath.example',
): string {
  return [`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers, '', body].join('\r\n')
}
