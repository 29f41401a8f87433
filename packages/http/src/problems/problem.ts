import { type ProblemCode, problemKind } from './problems.ts'

/** One mistake in the input. `pointer` is a JSON pointer into the body (`#/email`), or `?limit`. */
export interface InputMistake {
  readonly pointer: string
  readonly detail: string
}

interface ProblemOptions {
  /** Sent to the caller: what is wrong and what to do next. Never put internals here; those belong in `cause`. */
  readonly detail?: string
  readonly errors?: readonly InputMistake[]
  readonly headers?: Readonly<Record<string, string>>
  /** Members added to the document (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** Logged, never sent. */
  readonly cause?: unknown
}

/** Thrown at the edge only, to leave Koa with an answer. Domain code returns a `Result` instead. */
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

export const problemUrl = (origin: string, code: ProblemCode) => `${origin}/problems/${code}`

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

/** A path as RFC 3986 has it: clients may send other characters, which HTTP gives us as one character a byte. */
const uriPath = (path: string) =>
  path.replaceAll(/%(?![0-9A-Fa-f]{2})|[^\w~.\-!$&'()*+,;=:@/%]/g, (character) => {
    const byte = character.charCodeAt(0).toString(16).toUpperCase()
    return `%${byte.padStart(2, '0')}`
  })

/** RFC 6749 §5.2: the error member of a problem, for OAuth endpoints. */
export const oauthError = (code: ProblemCode) => problemKind(code).oauth ?? 'invalid_request'

/** RFC 6749 §5.2 allows only printable ASCII without `"` and `\` in error_description. */
export const oauthDescription = (text: string) =>
  text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
