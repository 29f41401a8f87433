import type { IncomingMessage } from 'node:http'
import { type RespondedRequest, runUnder, type Tracing } from '@plainpath/tracing'
import type { Middleware } from 'koa'
import { clientAddress, type TrustedProxies } from '../request/client-address.ts'
import { METHODS } from '../request/request-context.ts'

export interface TraceRequestsOptions {
  readonly tracing: Tracing
  /** Senders whose `traceparent` is continued; that of any other is ignored. */
  readonly continues: TrustedProxies
}

/** Creates a span for each request, named after its route. Register it first, so that every log line has the trace id. */
export function traceRequests(options: TraceRequestsOptions): Middleware {
  return async (ctx, next) => {
    const { span, endWithResponse } = begin(options, ctx.req)
    try {
      await runUnder(span, next)
    } finally {
      const method = METHODS.has(ctx.method) ? ctx.method : 'other'
      endWithResponse({ method, route: String(ctx.state['route'] ?? 'unmatched'), status: ctx.status })
    }
  }
}

/** Creates a span for a response that is sent synchronously. */
export function traceResponse(
  options: TraceRequestsOptions,
  request: IncomingMessage,
  { send, ...response }: RespondedRequest & { send(): void },
): void {
  const { span, endWithResponse } = begin(options, request)
  try {
    runUnder(span, send)
  } finally {
    endWithResponse(response)
  }
}

function begin({ tracing, continues }: TraceRequestsOptions, request: IncomingMessage) {
  const trusted = continues.has(clientAddress(request, NOBODY))
  return tracing.request(trusted ? request.headers['traceparent']?.toString() : undefined)
}

const NOBODY: TrustedProxies = { has: () => false }
