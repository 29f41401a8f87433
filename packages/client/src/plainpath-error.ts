interface Failure {
  status: number
  code: string
  detail: string
  retryAfter?: number | undefined
  requestId?: string | undefined
  problem?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** The one error that the client throws. It holds no secret and no token. */
export class PlainpathError extends Error {
  override readonly name = 'PlainpathError'
  /** The HTTP status; 0 when no response came. */
  readonly status: number
  /**
   * What went wrong: the last segment of the problem's `type`, such as `otp-invalid`. Without a response of the service it
   * is `timeout`, `network-error` or `unexpected-response`. Decide by it.
   */
  readonly code: string
  /** What is wrong and what to do next, in English. */
  readonly detail: string
  /** Seconds to wait before the next attempt, when the service said so. */
  readonly retryAfter: number | undefined
  /** Name it when you report a fault. */
  readonly requestId: string | undefined
  /** The whole body of the response, with members such as `attempts_remaining`, `successor` or `findHelp`. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor({ status, code, detail, retryAfter, requestId, problem, cause }: Failure) {
    super(`${status === 0 ? '' : `${status} `}${code}: ${detail}`, { cause })
    this.status = status
    this.code = code
    this.detail = detail
    this.retryAfter = retryAfter
    this.requestId = requestId
    this.problem = problem ?? {}
  }
}

/** Reads the three forms of error: RFC 9457 problems, the same with `error`, and RFC 6749 JSON. */
export function errorFrom(response: Response, body: unknown): PlainpathError {
  const problem = isObject(body) ? body : {}
  const page = text(problem['type']) ?? text(problem['error_uri'])
  return new PlainpathError({
    status: response.status,
    code: text(problem['code']) ?? page?.split('/').at(-1) ?? text(problem['error']) ?? 'unexpected-response',
    detail:
      text(problem['detail']) ??
      text(problem['error_description']) ??
      'The response is not one of this service.',
    retryAfter: seconds(response.headers.get('retry-after')),
    requestId: response.headers.get('x-request-id') ?? text(problem['request_id']),
    problem,
  })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

const seconds = (header: string | null): number | undefined =>
  header !== null && /^\d+$/.test(header) ? Number(header) : undefined
