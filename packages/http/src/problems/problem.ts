import { type ProblemCode, problemKind } from './problems.ts'

/** One mistake in the input. `pointer` is a JSON pointer into the body (`#/email`), or `?limit`. */
export interface InputMistake {
  readonly pointer: string
  readonly detail: string
}

interface ProblemOptions {
  /** Sent to the caller: what is wrong and what to do next. Internals belong in `cause`. */
  readonly detail?: string
  readonly errors?: readonly InputMistake[]
  readonly headers?: Readonly<Record<string, string>>
  /** Members added to the document (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** Logged, never sent. */
  readonly cause?: unknown
}

/** An error with a response. Thrown in HTTP code only; domain code returns a `Result` instead. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly options: ProblemOptions

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(problemKind(code).title, { cause: options.cause })
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
  readonly instance: string
  readonly code: ProblemCode
  readonly request_id: string
  readonly errors?: readonly InputMistake[]
  readonly [extension: string]: unknown
}

/** The URL of the page that explains a problem. */
export const problemUrl = (origin: string, code: ProblemCode) => `${origin}/problems/${code}`

/** Creates the body of an error response. Without a `detail` it has the meaning and the remedy of the problem's code. */
export function problemDocument(
  problem: Problem,
  at: { origin: string; path: string; requestId: string },
): ProblemDocument {
  const { title, status, meaning, remedy } = problemKind(problem.code)
  const { detail, errors, extensions } = problem.options
  return {
    type: problemUrl(at.origin, problem.code),
    title,
    status,
    detail: detail ?? `${meaning} ${remedy}`,
    instance: uriPath(at.path),
    code: problem.code,
    request_id: at.requestId,
    ...(errors && { errors }),
    ...extensions,
  }
}

/** Percent-encodes characters that RFC 3986 does not allow in a path. Node passes the bytes of a path as one character each. */
const uriPath = (path: string) =>
  path.replaceAll(/%(?![0-9A-Fa-f]{2})|[^\w~.\-!$&'()*+,;=:@/%]/g, (character) => {
    const byte = character.charCodeAt(0).toString(16).toUpperCase()
    return `%${byte.padStart(2, '0')}`
  })

/** The `error` member of a problem for OAuth endpoints (RFC 6749 §5.2). */
export const oauthError = (code: ProblemCode) => problemKind(code).oauth ?? 'invalid_request'

/** Replaces what `error_description` must not contain: all but printable ASCII without `"` and `\` (RFC 6749 §5.2). */
export const oauthDescription = (text: string) =>
  text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
