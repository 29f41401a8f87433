import type { Context, Middleware } from 'koa'
import type { Log } from './log.ts'
import { oauthDescription, oauthError, Problem, type ProblemDocument, problemDocument } from './problem.ts'

/**
 * How a failure is written: `problem` RFC 9457; `agent` the same with `error` and `error_description`;
 * `oauth` RFC 6749 §5.2, always JSON.
 */
export type ErrorForm = 'problem' | 'agent' | 'oauth'

export interface AnswerErrorsOptions {
  origin: string
  log: Log
  formOf(path: string): ErrorForm
  /** True for failures of a store or a peer: 503 instead of 500. */
  isUnavailable?(thrown: unknown): boolean
  /** The page for people whose browser asked for HTML; without it they get the problem as JSON. */
  page?(problem: ProblemDocument): string
}

/** The only place that turns a failure into a response. Register it right after the request context. */
export function answerErrors(options: AnswerErrorsOptions): Middleware {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null) throw new Problem('not-found')
    } catch (thrown) {
      answer(ctx, asProblem(thrown, options), options)
    }
  }
}

function asProblem(thrown: unknown, options: AnswerErrorsOptions): Problem {
  if (thrown instanceof Problem) return thrown
  if (options.isUnavailable?.(thrown)) return new Problem('unavailable', { cause: thrown })
  return new Problem('internal-error', { cause: thrown })
}

function answer(ctx: Context, problem: Problem, options: AnswerErrorsOptions): void {
  const document = problemDocument(problem, {
    origin: options.origin,
    path: ctx.path,
    requestId: String(ctx.state['requestId'] ?? ''),
  })
  if (document.status >= 500) {
    options.log.error(document.title, {
      request_id: document.request_id,
      code: problem.code,
      error: problem.cause,
    })
  }
  ctx.remove('etag')
  ctx.set({
    'cache-control': 'no-store',
    ...(document.status === 503 && { 'retry-after': '2' }),
    ...problem.options.headers,
  })
  if (document.status === 413) ctx.set('connection', 'close')
  ctx.status = document.status
  const form = options.formOf(ctx.path)
  const wantsPage =
    form === 'problem' &&
    options.page &&
    ctx.accepts('application/problem+json', 'application/json', 'html') === 'html'
  ctx.type = wantsPage ? 'html' : form === 'oauth' ? 'application/json' : 'application/problem+json'
  ctx.body = wantsPage ? options.page?.(document) : JSON.stringify(body(form, document))
}

function body(form: ErrorForm, document: ProblemDocument): object {
  const error = oauthError(document.code)
  const error_description = oauthDescription(document.detail)
  if (form === 'oauth') return { error, error_description, error_uri: document.type }
  return form === 'agent' ? { ...document, error, error_description } : document
}
