import { errorFrom, PlainpathError } from './plainpath-error.ts'

/** The longest `Retry-After`, in seconds, that the client waits for by itself. */
const LONGEST_WAIT_SECONDS = 5

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, or as a form. */
  readonly body?: object | URLSearchParams
  /** True when a second request does no more than the first. */
  readonly repeatable: boolean
  /** Adds what must be new in each attempt: an assertion, a proof. */
  readonly sign?: (request: ApiRequest) => Promise<ApiRequest>
  /** Sees the headers of each response, also of an error. */
  readonly onHeaders?: (headers: Headers) => void
}

export interface SendOptions {
  /** For one attempt, from the request to the last byte of the response. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * Sends a request. A 429 or 503 whose `Retry-After` is at most five seconds is followed by one more attempt, if the request is
 * repeatable. Nothing else is retried.
 *
 * @returns the JSON of the response; undefined without a body
 * @throws {PlainpathError} or the reason of `signal`
 */
export async function send(request: ApiRequest, options: SendOptions): Promise<unknown> {
  try {
    return await sendOnce(request, options)
  } catch (error) {
    const seconds = request.repeatable ? waitBeforeRetry(error) : undefined
    if (seconds === undefined) throw error
    await wait(seconds * 1000, options.signal)
    return sendOnce(request, options)
  }
}

function waitBeforeRetry(error: unknown): number | undefined {
  if (!(error instanceof PlainpathError) || (error.status !== 429 && error.status !== 503)) return undefined
  const { retryAfter } = error
  return retryAfter !== undefined && retryAfter <= LONGEST_WAIT_SECONDS ? retryAfter : undefined
}

async function sendOnce(request: ApiRequest, { timeoutMs, signal }: SendOptions): Promise<unknown> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const signed = request.sign ? await request.sign(request) : request
    const response = await fetch(request.url, {
      ...fetchOptions(signed),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    request.onHeaders?.(response.headers)
    return readResponse(response, await response.text())
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof PlainpathError) throw cause
    throw timeout.aborted
      ? new PlainpathError({ status: 0, code: 'timeout', detail: `No response in ${timeoutMs} ms.`, cause })
      : new PlainpathError({ status: 0, code: 'network-error', detail: 'The request failed.', cause })
  }
}

/** No redirect is followed, so that secrets and messages reach no other server, and no cookie is sent. */
function fetchOptions({ method, headers, body }: ApiRequest): RequestInit {
  const options = { method, headers: { ...headers }, redirect: 'error', credentials: 'omit' } as const
  if (body === undefined) return options
  if (body instanceof URLSearchParams) return { ...options, body }
  return {
    ...options,
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }
}

function readResponse(response: Response, text: string): unknown {
  const body = parseJson(text)
  if (!response.ok) throw errorFrom(response, body)
  if (text !== '' && body === undefined)
    throw new PlainpathError({
      status: response.status,
      code: 'unexpected-response',
      detail: 'The response is not JSON. Does the address name the service?',
    })
  return body
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const timer = new Promise<void>((resolve) => void setTimeout(resolve, ms))
  await abandonable(timer, signal)
}

/** Waits for work that others may share. The signal ends the waiting, not the work. */
export async function abandonable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  let abandon = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abandon = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abandon, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abandon)
  }
}
