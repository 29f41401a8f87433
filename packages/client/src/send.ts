import { PlainpathError, parseError } from './plainpath-error.ts'

/** The client retries by itself only if `Retry-After` is at most this long. */
const MAX_RETRY_AFTER_SECONDS = 5

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** The body. An object is sent as JSON, `URLSearchParams` as a form. */
  readonly body?: object | URLSearchParams
  /** True if repeating the request has no further effect. */
  readonly isRepeatable: boolean
  /** The code of an error that the caller handles: the request is not repeated after it. */
  readonly handledCode?: string
  /** Adds a token or client authentication, and a DPoP proof. Runs before each attempt, because assertions and proofs work once. */
  readonly sign?: (request: ApiRequest) => Promise<ApiRequest>
  /** Receives the headers of each response, including error responses. */
  readonly onHeaders?: (headers: Headers) => void
}

export interface SendOptions {
  /** The timeout of one attempt, from the request to the last byte of the response. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * Sends a request. Retries once after a 429 or 503 response whose `Retry-After` is at most five seconds, if the request is
 * repeatable.
 *
 * @returns the response body, parsed as JSON; undefined if it is empty
 * @throws {PlainpathError} if the request fails
 * @throws the abort reason of `signal`, or what `sign` throws
 */
export async function send(request: ApiRequest, options: SendOptions): Promise<unknown> {
  try {
    return await sendOnce(request, options)
  } catch (error) {
    const seconds = request.isRepeatable ? getRetryDelaySeconds(error, request.handledCode) : undefined
    if (seconds === undefined) throw error
    await wait(seconds * 1000, options.signal)
    return sendOnce(request, options)
  }
}

function getRetryDelaySeconds(error: unknown, handledCode: string | undefined): number | undefined {
  if (!(error instanceof PlainpathError) || (error.status !== 429 && error.status !== 503)) return undefined
  if (error.code === handledCode) return undefined
  const { retryAfter } = error
  return retryAfter !== undefined && retryAfter <= MAX_RETRY_AFTER_SECONDS ? retryAfter : undefined
}

async function sendOnce(request: ApiRequest, { timeoutMs, signal }: SendOptions): Promise<unknown> {
  // Outside the `try`: a signature that fails is no network error.
  const signedRequest = request.sign ? await request.sign(request) : request
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(request.url, {
      ...createFetchOptions(signedRequest),
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

/** Creates the options for `fetch`. Forbids redirects, so that secrets and messages reach no other server, and omits cookies. */
function createFetchOptions({ method, headers, body }: ApiRequest): RequestInit {
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
  if (!response.ok) throw parseError(response, body)
  if (text !== '' && body === undefined)
    throw new PlainpathError({
      status: response.status,
      code: 'unexpected-response',
      detail: 'The response is not JSON. Does the address name the service?',
    })
  return body
}

/** Parses JSON. Returns undefined for any other text, so that the caller can report it with the status of the response. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const startDelay = () => new Promise<void>((resolve) => void setTimeout(resolve, ms))
  await waitUnlessAborted(startDelay, signal)
}

/**
 * Starts work that callers may share, and waits for it. A signal that is already aborted prevents the start. Later, it ends the wait,
 * but not the work.
 */
export async function waitUnlessAborted<T>(
  startWork: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return startWork()
  signal.throwIfAborted()
  let rejectOnAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    rejectOnAbort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', rejectOnAbort, { once: true })
  })
  try {
    return await Promise.race([startWork(), aborted])
  } finally {
    signal.removeEventListener('abort', rejectOnAbort)
  }
}
