import type { Context, Middleware } from 'koa'
import { createFailureLogger, type LogFailure } from '../observability/failure-log.ts'
import type { Log } from '../observability/log.ts'
import {
  createProblemDocument,
  Problem,
  type ProblemDocument,
  toOauthDescription,
  toOauthError,
} from './problem.ts'

/*
 * The central error handler. It turns everything that middleware and routes throw into a response, and logs failures
 * (5xx). Routes decide what counts as an error, and throw a `Problem` (`problem.ts`) with a code from `problems.ts`.
 */

/**
 * The format of an error response:
 * - `problem`: RFC 9457
 * - `agent`: RFC 9457 with the members `error` and `error_description`
 * - `oauth`: RFC 6749 §5.2 with the member `code`
 * - `page`: HTML if `Accept` prefers it to JSON and is not too long, otherwise like `problem`
 */
export type ErrorFormat = 'problem' | 'agent' | 'oauth' | 'page'

export interface HandleErrorsOptions {
  /** The public origin, for the URLs of the problems. */
  origin: string
  log: Log
  /** Chooses the format by the path of the request. */
  chooseErrorFormat(path: string): ErrorFormat
  /** Returns true for failures of a store or of the other app, which become 503 instead of 500. */
  isUnavailable?(thrown: unknown): boolean
  /** Renders the format `page`. Without it, browsers also receive JSON. */
  renderPage?(problem: ProblemDocument): string
}

/** Headers of the response that the error replaces. They are removed, because they do not describe the error. */
const CONTENT_HEADERS = [
  'etag',
  'last-modified',
  'location',
  'content-encoding',
  'content-disposition',
  'link',
]

/** A longer `Accept`, which no browser sends, would take milliseconds to parse. It is treated as accepting JSON. */
const MAX_ACCEPT_LENGTH = 1_000

/** The default `Retry-After` of 503 responses. */
const RETRY_AFTER_SECONDS = 2

/**
 * Creates the middleware that turns errors into responses. Register it after `addRequestContext`. A request without a
 * response is `not-found`, unless `ctx.respond` is false because a library has written the response directly.
 */
export function handleErrors(options: HandleErrorsOptions): Middleware {
  const logFailure = createFailureLogger(options.log)
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null && ctx.respond !== false) throw new Problem('not-found')
    } catch (thrown) {
      sendProblem(ctx, toProblem(thrown, options), { ...options, logFailure })
    }
  }
}

function toProblem(thrown: unknown, options: HandleErrorsOptions): Problem {
  if (thrown instanceof Problem) return thrown
  if (options.isUnavailable?.(thrown)) return new Problem('unavailable', { cause: thrown })
  return new Problem('internal-error', { cause: thrown })
}

function sendProblem(
  ctx: Context,
  problem: Problem,
  options: HandleErrorsOptions & { logFailure: LogFailure },
): void {
  const document = createProblemDocument(problem, {
    origin: options.origin,
    path: ctx.path,
    requestId: String(ctx.state['requestId'] ?? ''),
  })
  if (document.status >= 500) {
    const { code, cause: error } = problem
    options.logFailure(document.title, { request_id: document.request_id, code, error })
  }
  // A partly sent response cannot be replaced. Closing the connection shows the client that it is incomplete.
  if (ctx.headerSent) return void ctx.res.destroy()
  // A library may have set this to false, to write the response itself, before it failed.
  ctx.respond = true
  for (const name of CONTENT_HEADERS) ctx.remove(name)
  ctx.set({
    'cache-control': 'no-store',
    ...(document.status === 503 && { 'retry-after': String(RETRY_AFTER_SECONDS) }),
    // The rest of the body may be unread, so the connection cannot be used for another request.
    ...(document.status === 413 && { connection: 'close' }),
    ...problem.options.headers,
  })
  ctx.status = document.status
  writeDocument(ctx, document, options)
}

function writeDocument(
  ctx: Context,
  document: ProblemDocument,
  { chooseErrorFormat, renderPage }: HandleErrorsOptions,
): void {
  const format = chooseErrorFormat(ctx.path)
  if (format === 'page' && renderPage) {
    ctx.vary('Accept')
    const isAcceptShort = ctx.get('accept').length <= MAX_ACCEPT_LENGTH
    if (isAcceptShort && ctx.accepts('application/problem+json', 'application/json', 'html') === 'html') {
      ctx.type = 'html'
      ctx.body = renderPage(document)
      return
    }
  }
  ctx.type = format === 'oauth' ? 'application/json' : 'application/problem+json'
  ctx.body = JSON.stringify(createBody(format, document))
}

function createBody(format: ErrorFormat, document: ProblemDocument): object {
  const error = toOauthError(document.code)
  const error_description = toOauthDescription(document.detail)
  if (format === 'oauth') return { error, error_description, error_uri: document.type, code: document.code }
  return format === 'agent' ? { ...document, error, error_description } : document
}
