import type { Context, Middleware } from 'koa'
import { failureLog } from '../observability/failure-log.ts'
import type { Log } from '../observability/log.ts'
import { oauthDescription, oauthError, Problem, type ProblemDocument, problemDocument } from './problem.ts'

/*
 * The central error handler: turns everything that middleware and routes throw into a response and a log line. It decides
 * neither what is an error nor its code: routes throw a `Problem` (`problem.ts`), whose kinds are in `problems.ts`.
 */

/**
 * The format of an error response. `problem`: RFC 9457; `agent`: the same with `error` and `error_description`;
 * `oauth`: RFC 6749 §5.2 with `code`; `page`: HTML for a browser that accepts it, else as `problem`.
 */
export type ErrorForm = 'problem' | 'agent' | 'oauth' | 'page'

export interface HandleErrorsOptions {
  origin: string
  log: Log
  errorForm(path: string): ErrorForm
  /** True for failures of a store or of the other app, which become 503 instead of 500. */
  isUnavailable?(thrown: unknown): boolean
  /** Renders the format `page`; without it browsers also get JSON. */
  page?(problem: ProblemDocument): string
}

/** Headers of the response that the error replaces. */
const CONTENT_HEADERS = [
  'etag',
  'last-modified',
  'location',
  'content-encoding',
  'content-disposition',
  'link',
]

/**
 * Creates the middleware that responds to errors. Register it right after the request context. A request that no middleware
 * responded to is `not-found`, unless `ctx.respond` is false because a library wrote to the response directly.
 */
export function handleErrors(options: HandleErrorsOptions): Middleware {
  const logFailure = failureLog(options.log)
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null && ctx.respond !== false) throw new Problem('not-found')
    } catch (thrown) {
      respond(ctx, toProblem(thrown, options), { ...options, logFailure })
    }
  }
}

function toProblem(thrown: unknown, options: HandleErrorsOptions): Problem {
  if (thrown instanceof Problem) return thrown
  if (options.isUnavailable?.(thrown)) return new Problem('unavailable', { cause: thrown })
  return new Problem('internal-error', { cause: thrown })
}

function respond(
  ctx: Context,
  problem: Problem,
  options: HandleErrorsOptions & { logFailure: ReturnType<typeof failureLog> },
): void {
  const document = problemDocument(problem, {
    origin: options.origin,
    path: ctx.path,
    requestId: String(ctx.state['requestId'] ?? ''),
  })
  if (document.status >= 500) {
    const { code, cause: error } = problem
    options.logFailure(document.title, { request_id: document.request_id, code, error })
  }
  // A response that was sent in part cannot be taken back; closing the connection shows the client that it is incomplete.
  if (ctx.headerSent) return void ctx.res.destroy()
  ctx.respond = true
  for (const name of CONTENT_HEADERS) ctx.remove(name)
  ctx.set({
    'cache-control': 'no-store',
    ...(document.status === 503 && { 'retry-after': '2' }),
    // The rest of the body is not read, so no other request may follow it.
    ...(document.status === 413 && { connection: 'close' }),
    ...problem.options.headers,
  })
  ctx.status = document.status
  write(ctx, document, options)
}

function write(ctx: Context, document: ProblemDocument, { errorForm, page }: HandleErrorsOptions): void {
  const form = errorForm(ctx.path)
  if (form === 'page' && page) {
    ctx.vary('Accept')
    if (ctx.accepts('application/problem+json', 'application/json', 'html') === 'html') {
      ctx.type = 'html'
      ctx.body = page(document)
      return
    }
  }
  ctx.type = form === 'oauth' ? 'application/json' : 'application/problem+json'
  ctx.body = JSON.stringify(body(form, document))
}

function body(form: ErrorForm, document: ProblemDocument): object {
  const error = oauthError(document.code)
  const error_description = oauthDescription(document.detail)
  if (form === 'oauth') return { error, error_description, error_uri: document.type, code: document.code }
  return form === 'agent' ? { ...document, error, error_description } : document
}
