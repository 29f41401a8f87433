import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'

export interface HttpRequest {
  readonly method?: string
  /** Sent unchanged, without normalization. */
  readonly path: string
  /** For a list, the header is sent once for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The time from the call of `send` until the whole response had arrived. It includes the time to connect. */
  readonly ms: number
}

export interface Sender extends Disposable {
  /** Rejects if the whole response does not arrive within 20 s. */
  send(request: HttpRequest): Promise<HttpResponse>
}

const TIMEOUT_MS = 20_000

/**
 * Creates a sender of arbitrary requests over persistent connections.
 *
 * @param options.from the local address, in 127.0.0.0/8. With several addresses, one machine can act as many clients
 * @param options.tls for `https:`, the host name to request and the certificate authority to trust
 */
export function createSender(
  url: string,
  options: { from?: string; tls?: { servername: string; ca: string } } = {},
): Sender {
  const { protocol, hostname, port, host } = new URL(url)
  const { Agent, request } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 32, timeout: TIMEOUT_MS, ...options.tls })
  return {
    async send({ method = 'GET', path, headers = {}, body }) {
      const startedAt = performance.now()
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const outgoing = request({
        agent,
        // Test servers listen on 127.0.0.1 only, and `from` is an IPv4 address, but `localhost` may mean ::1.
        hostname: hostname === 'localhost' ? '127.0.0.1' : hostname,
        port,
        method,
        path,
        headers: { host, ...length, ...(headers as Record<string, string | string[]>) },
        ...(options.from && { localAddress: options.from }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      outgoing.end(body)
      const incoming = await waitForResponse(outgoing)
      return {
        status: incoming.statusCode ?? 0,
        headers: readHeaders(incoming),
        text: await text(incoming),
        ms: performance.now() - startedAt,
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}

function waitForResponse(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  outgoing.once('error', reject)
  return promise
}

/** Converts the headers from the raw list, so that a header which is sent repeatedly keeps all values. */
const readHeaders = ({ rawHeaders }: IncomingMessage) =>
  new Headers(
    rawHeaders.flatMap((name, index) =>
      index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as [string, string]] : [],
    ),
  )

/** Creates the headers and the body of a JSON request. A string is sent unchanged. */
export const json = (body: unknown) => ({
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

/** Creates the headers and the body of a form request. */
export const form = (fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[]) => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields as Record<string, string>).toString(),
})

/** Creates the header of HTTP Basic authentication. */
export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
