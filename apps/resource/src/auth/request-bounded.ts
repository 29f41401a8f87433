import * as http from 'node:http'
import * as https from 'node:https'

export interface BoundedRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

export interface BoundedAnswer {
  readonly status: number
  /** The media type, lower-case, without parameters. */
  readonly type: string
  readonly text: string
}

const LIMIT_BYTES = 64 * 1024

/** What Node says when a kept connection was closed just as a request was written to it. */
const LOST_CONNECTION = new Set(['ECONNRESET', 'EPIPE'])

/** Idle connections are let go before the 5 s after which auth closes them: no request meets a closing one. */
const KEPT = { keepAlive: true, timeout: 4_000 }

/** Of Node's own and not `fetch`, whose streams, headers and aborts took a tenth of what the API did under load. */
const HTTP = { request: http.request, agent: new http.Agent(KEPT) }
const HTTPS = { request: https.request, agent: new https.Agent(KEPT) }

/**
 * Reads at most 64 KiB as they are, follows no redirect, and is over when `signal` says so, whatever the other side does. A
 * lost connection is tried once more at once, so only ask what may be asked twice.
 *
 * @throws the reason of `signal`, what Node says of a connection (with a `code`), a RangeError for a longer answer and a
 *   TypeError for an encoded one, or one that changes the protocol
 */
export async function requestBounded(url: string, request: BoundedRequest): Promise<BoundedAnswer> {
  try {
    return await exchange(url, request)
  } catch (error) {
    if (request.signal.aborted || !LOST_CONNECTION.has((error as NodeJS.ErrnoException).code ?? ''))
      throw error
    return exchange(url, request)
  }
}

function exchange(url: string, { method = 'GET', headers = {}, body, signal }: BoundedRequest) {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<BoundedAnswer>()
  const target = new URL(url)
  const { request, agent } = target.protocol === 'https:' ? HTTPS : HTTP
  const outgoing = request(target, { method, headers, agent }, (response) => {
    response.on('error', reject)
    if (response.headers['content-encoding'] !== undefined)
      return void response.destroy(new TypeError('the answer is encoded, and nobody asked for that'))
    const chunks: Buffer[] = []
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.byteLength
      if (length > LIMIT_BYTES)
        response.destroy(new RangeError(`the answer is longer than ${LIMIT_BYTES} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
      resolve({ status: response.statusCode ?? 0, type, text: Buffer.concat(chunks).toString('utf8') })
    })
  })
  // Not Node's own `signal`: what has lost its socket without an error is never told of it.
  signal.addEventListener('abort', () => {
    reject(signal.reason)
    outgoing.destroy()
  })
  outgoing
    .on('upgrade', (_response, socket) => {
      socket.destroy()
      reject(new TypeError('the answer changes the protocol, and nobody asked for that'))
    })
    .on('error', reject)
    .end(body)
  return promise
}

/**
 * A signal that is aborted after `ms`, unless it was disposed of before: then nothing is left of it. What
 * `AbortSignal.timeout` gives goes on after the work is done, and makes an error that nobody hears of.
 */
export function timeOut(ms: number): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const elapse = () => controller.abort(new DOMException(`not done within ${ms} ms`, 'TimeoutError'))
  const timer = setTimeout(elapse, ms)
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}
