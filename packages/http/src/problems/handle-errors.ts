import type { Context, Middleware } from 'koa'
import { failureLog } from '../observability/failure-log.ts'
import type { Log } from '../observability/log.ts'
import { oauthDescription, oauthError, Problem, type ProblemDocument, problemDocument } from './problem.ts'

/**
 * How a failure is written: `problem` RFC 9457; `agent` the same with `error` and `error_description`;
 * `oauth` RFC 6749 §5.2; `page` as `problem`, or as a page for a browser that asks for HTML.
 */
export type ErrorForm = 'problem' | 'agent' | 'oauth' | 'page'

export interface HandleErrorsOptions {
  origin: string
  log: Log
  errorForm(path: string): ErrorForm
  /** True for failures of a store or a peer: 503 instead of 500. */
  isUnavailable?(thrown: unknown): boolean
  /** Writes the form `page`; without it people get the problem as JSON too. */
  page?(problem: ProblemDocument): string
}

/** Headers that describe what would have been answered. */
const OF_THE_ANSWER = ['etag', 'last-modified', 'location', 'content-encoding', 'content-disposition', 'link']

/**
 * The only place that turns a failure into a response. Register it right after the request context. What nobody
 * answered is `not-found`, unless `ctx.respond` is false because somebody wrote to the response directly.
 */
export function handleErrors(options: HandleErrorsOptions): Middleware {
  const logFailure = failureLog(options.log)
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null && ctx.respond !== false) throw new Problem('not-found')
    } catch (thrown) {
      answer(ctx, asProblem(thrown, options), { ...options, logFailure })
    }
  }
}

function asProblem(thrown: unknown, options: HandleErrorsOptions): Problem {
  if (thrown instanceof Problem) return thrown
  if (options.isUnavailable?.(thrown)) return new Problem('unavailable', { cause: thrown })
  return new Problem('internal-error', { cause: thrown })
}

function answer(
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
  // Half an answer cannot be taken back; cutting the connection tells the client that it is not whole.
  if (ctx.headerSent) return void ctx.res.destroy()
  ctx.respond = true
  for (const name of OF_THE_ANSWER) ctx.remove(name)
  ctx.set({
    'cache-control': 'no-store',
    ...(document.status === 503 && { 'retry-after': '2' }),
    // What is left of the body is not read, so nothing may follow it.
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
  if (form === 'oauth') return { error, error_description, error_uri: document.type }
  return form === 'agent' ? { ...document, error, error_description } : document
}
