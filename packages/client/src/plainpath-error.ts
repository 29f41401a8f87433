interface PlainpathErrorOptions {
  status: number
  code: string
  detail: string
  retryAfter?: number | undefined
  requestId?: string | undefined
  problem?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** Thrown by a method of the client that fails. It contains no secret or token. */
export class PlainpathError extends Error {
  override readonly name = 'PlainpathError'
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /**
   * Identifies the error for programs. It is the last segment of the problem's `type`, such as `otp-invalid`. If the service sent no
   * valid response, it is `timeout`, `network-error` or `unexpected-response`. If the client has no credentials, it is
   * `not-registered`.
   */
  readonly code: string
  /** Describes the mistake and the next step, in English. */
  readonly detail: string
  /** The seconds to wait before the next attempt, if the service stated them. */
  readonly retryAfter: number | undefined
  /** The request id, for fault reports. */
  readonly requestId: string | undefined
  /** The response body if it is a JSON object, with members such as `attempts_remaining`, `successor` or `findHelp`. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor({ status, code, detail, retryAfter, requestId, problem, cause }: PlainpathErrorOptions) {
    super(`${status === 0 ? '' : `${status} `}${code}: ${detail}`, { cause })
    this.status = status
    this.code = code
    this.detail = detail
    this.retryAfter = retryAfter
    this.requestId = requestId
    this.problem = problem ?? {}
  }
}

/** Parses an error response: a problem (RFC 9457) or an OAuth error (RFC 6749 §5.2). Any other gets the code `unexpected-response`. */
export function parseError(response: Response, body: unknown): PlainpathError {
  const problem = isObject(body) ? body : {}
  const pageUrl = toText(problem['type']) ?? toText(problem['error_uri'])
  return new PlainpathError({
    status: response.status,
    code:
      toText(problem['code']) ??
      pageUrl?.split('/').at(-1) ??
      toText(problem['error']) ??
      'unexpected-response',
    detail:
      toText(problem['detail']) ??
      toText(problem['error_description']) ??
      'The response is not one of this service.',
    retryAfter: parseSeconds(response.headers.get('retry-after')),
    requestId: response.headers.get('x-request-id') ?? toText(problem['request_id']),
    problem,
  })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const toText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

const parseSeconds = (header: string | null): number | undefined =>
  header !== null && /^\d+$/.test(header) ? Number(header) : undefined
