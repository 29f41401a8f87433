import * as http from 'node:http'
import * as https from 'node:https'
import { startTimeout } from '@plainpath/http'

export interface BoundedRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

export interface BoundedResponse {
  readonly status: number
  /** The media type, lower-case, without parameters. */
  readonly type: string
  readonly text: string
}

const MAX_RESPONSE_BYTES = 64 * 1024

/**
 * Node's error codes for a lost connection, such as an idle connection that the server closes while a request is written to it.
 */
const LOST_CONNECTION_CODES = new Set(['ECONNRESET', 'EPIPE'])

/**
 * Auth closes idle connections after 5 s. We close them earlier, so that no request is sent on a connection that auth is closing.
 */
const AGENT_OPTIONS = { keepAlive: true, timeout: 4_000 }

/** Node's client, not `fetch`, whose streams, headers and abort handling took a tenth of the API's processor time under load. */
const HTTP = { request: http.request, agent: new http.Agent(AGENT_OPTIONS) }
const HTTPS = { request: https.request, agent: new https.Agent(AGENT_OPTIONS) }

/**
 * Sends a request and accepts a response of at most 64 KiB. Follows no redirects. Rejects as soon as `signal` is aborted. Repeats
 * the request once if its connection is lost, so send only requests that may be repeated.
 *
 * @throws the reason of `signal`; Node's connection error, which has a `code`; a RangeError for a longer response; a TypeError
 *   for a response with a content encoding or a protocol upgrade
 */
export async function sendBoundedRequest(url: string, request: BoundedRequest): Promise<BoundedResponse> {
  try {
    return await sendOnce(url, request)
  } catch (error) {
    if (request.signal.aborted || !LOST_CONNECTION_CODES.has((error as NodeJS.ErrnoException).code ?? ''))
      throw error
    return sendOnce(url, request)
  }
}

function sendOnce(url: string, { method = 'GET', headers = {}, body, signal }: BoundedRequest) {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<BoundedResponse>()
  const target = new URL(url)
  const { request, agent } = target.protocol === 'https:' ? HTTPS : HTTP
  const clientRequest = request(target, { method, headers, agent }, (response) => {
    response.on('error', reject)
    if (response.headers['content-encoding'] !== undefined)
      return void response.destroy(
        new TypeError('the response has a content encoding, which was not requested'),
      )
    const chunks: Buffer[] = []
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.byteLength
      if (length > MAX_RESPONSE_BYTES)
        response.destroy(new RangeError(`the response is longer than ${MAX_RESPONSE_BYTES} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
      resolve({ status: response.statusCode ?? 0, type, text: Buffer.concat(chunks).toString('utf8') })
    })
  })
  // Node's own `signal` option does not suffice: a request that lost its socket without an error ignores it.
  signal.addEventListener('abort', () => {
    reject(signal.reason)
    clientRequest.destroy()
  })
  clientRequest
    .on('upgrade', (_response, socket) => {
      socket.destroy()
      reject(new TypeError('the response changes the protocol, which was not requested'))
    })
    .on('error', reject)
    .end(body)
  return promise
}

/**
 * Creates a signal that is aborted after `ms` milliseconds, unless it is disposed of first. `AbortSignal.timeout` does not
 * suffice, because its timer keeps running after the work has finished.
 */
export function createTimeoutSignal(ms: number): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const timeout = startTimeout(ms, () =>
    controller.abort(new DOMException(`not done within ${ms} ms`, 'TimeoutError')),
  )
  return { ...timeout, signal: controller.signal }
}
