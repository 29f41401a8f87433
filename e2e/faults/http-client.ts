import { Agent, type IncomingHttpHeaders, request } from 'node:http'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Times are from `performance.now()`: before the first byte was sent, and after the last byte was received. */
export interface HttpResponse {
  /** 0 if there was no complete response. */
  readonly status: number
  /** The body, or the cause if there was no complete response. */
  readonly text: string
  readonly startedAt: number
  readonly endedAt: number
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined
}

export interface HttpClient extends Disposable {
  /** Sends a request. Resolves with status 0 if there is no complete response, and does not reject. */
  send(httpRequest: HttpRequest): Promise<HttpResponse>
}

const IDLE_TIMEOUT_MS = 15_000

/** Creates a client with persistent connections. A request times out after 15 s without data. */
export function createHttpClient(origin: string): HttpClient {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 })
  return {
    send: (httpRequest) => sendRequest(new URL(httpRequest.path, origin), httpRequest, agent),
    [Symbol.dispose]: () => agent.destroy(),
  }
}

function sendRequest(url: URL, { method, headers, body }: HttpRequest, agent: Agent): Promise<HttpResponse> {
  const startedAt = performance.now()
  const { promise, resolve } = Promise.withResolvers<HttpResponse>()
  const settle = (status: number, text: string, responseHeaders: IncomingHttpHeaders = {}) =>
    resolve({
      status,
      text,
      startedAt,
      endedAt: performance.now(),
      header: (name) => responseHeaders[name]?.toString(),
    })
  const outgoing = request(url, { method, headers: { ...headers }, agent, timeout: IDLE_TIMEOUT_MS })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no data within ${IDLE_TIMEOUT_MS / 1000} s`)))
  outgoing.on('error', (error: NodeJS.ErrnoException) => settle(0, error.code ?? error.message))
  outgoing.on('response', (incoming) => {
    let text = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (chunk: string) => {
      text += chunk
    })
    incoming.on('end', () => settle(incoming.statusCode ?? 0, text, incoming.headers))
    incoming.on('error', (error: NodeJS.ErrnoException) => settle(0, error.code ?? error.message))
  })
  outgoing.end(body)
  return promise
}
