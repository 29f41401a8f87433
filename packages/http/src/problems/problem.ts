import { getProblemKind, type ProblemCode } from './problems.ts'

/** A mistake in the input. `pointer` is a JSON pointer into the body (`#/email`), or a query parameter (`?limit`). */
export interface InputMistake {
  readonly pointer: string
  readonly detail: string
}

interface ProblemOptions {
  /** Sent to the caller: the mistake and the next step. Internals belong in `cause`. */
  readonly detail?: string
  readonly errors?: readonly InputMistake[]
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the document (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** Logged, never sent. */
  readonly cause?: unknown
}

/** An error that becomes a response. Only HTTP code throws it; domain code returns a `Result`. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly options: ProblemOptions

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(getProblemKind(code).title, { cause: options.cause })
    this.code = code
    this.options = options
  }
}

/** RFC 9457 problem details with our extension members. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The path of the request, without the query. */
  readonly instance: string
  readonly code: ProblemCode
  /** The id of the request in the log, which is also in the header `X-Request-Id`. */
  readonly request_id: string
  readonly errors?: readonly InputMistake[]
  readonly [extension: string]: unknown
}

/** Returns the URL of the page that explains a problem. */
export const formatProblemUrl = (origin: string, code: ProblemCode) => `${origin}/problems/${code}`

/** Creates the body of an error response. The default `detail` is the meaning and the remedy of the problem's code. */
export function createProblemDocument(
  problem: Problem,
  request: { origin: string; path: string; requestId: string },
): ProblemDocument {
  const { title, status, meaning, remedy } = getProblemKind(problem.code)
  const { detail, errors, extensions } = problem.options
  return {
    type: formatProblemUrl(request.origin, problem.code),
    title,
    status,
    detail: detail ?? `${meaning} ${remedy}`,
    instance: encodePath(request.path),
    code: problem.code,
    request_id: request.requestId,
    ...(errors && { errors }),
    ...extensions,
  }
}

/** Percent-encodes what RFC 3986 does not allow in a path. Node represents each byte of a path as one character. */
const encodePath = (path: string) =>
  path.replaceAll(/%(?![0-9A-Fa-f]{2})|[^\w~.\-!$&'()*+,;=:@/%]/g, (character) => {
    const byte = character.charCodeAt(0).toString(16).toUpperCase()
    return `%${byte.padStart(2, '0')}`
  })

/** Returns a problem's `error` member for OAuth endpoints (RFC 6749 §5.2); `invalid_request` if its kind has no own value. */
export const toOauthError = (code: ProblemCode) => getProblemKind(code).oauth ?? 'invalid_request'

/** Replaces what `error_description` must not contain (RFC 6749 §5.2): `"`, `\` and all but printable ASCII. */
export const toOauthDescription = (text: string) =>
  text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
