import type { IncomingMessage } from 'node:http'
import { type AnsweredRequest, runUnder, type Tracing } from '@plainpath/tracing'
import type { Middleware } from 'koa'
import { clientAddress, type TrustedProxies } from '../request/client-address.ts'
import { METHODS } from '../request/request-context.ts'

export interface TraceRequestsOptions {
  readonly tracing: Tracing
  /** Whose `traceparent` is gone on with; that of anybody else is as if it were not there. */
  readonly continues: TrustedProxies
}

/** A span for each request, named by its route. Register it before all else, so that every log line has its trace. */
export function traceRequests(options: TraceRequestsOptions): Middleware {
  return async (ctx, next) => {
    const { span, answered } = begin(options, ctx.req)
    try {
      await runUnder(span, next)
    } finally {
      const method = METHODS.has(ctx.method) ? ctx.method : 'other'
      answered({ method, route: String(ctx.state['route'] ?? 'unmatched'), status: ctx.status })
    }
  }
}

/** The same for what is answered at once. */
export function traceAnswer(
  options: TraceRequestsOptions,
  request: IncomingMessage,
  { give, ...answer }: AnsweredRequest & { give(): void },
): void {
  const { span, answered } = begin(options, request)
  try {
    runUnder(span, give)
  } finally {
    answered(answer)
  }
}

function begin({ tracing, continues }: TraceRequestsOptions, request: IncomingMessage) {
  const trusted = continues.has(clientAddress(request, NOBODY))
  return tracing.request(trusted ? request.headers['traceparent']?.toString() : undefined)
}

const NOBODY: TrustedProxies = { has: () => false }
