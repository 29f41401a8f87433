import type { IncomingMessage } from 'node:http'
import { type RespondedRequest, runWithSpan, type Tracing } from '@plainpath/tracing'
import type { Middleware } from 'koa'
import { findClientAddress, type TrustedProxies } from '../request/client-address.ts'
import { KNOWN_METHODS } from '../request/request-context.ts'

export interface TraceRequestsOptions {
  readonly tracing: Tracing
  /** The senders whose `traceparent` is continued. Any other `traceparent` is ignored. */
  readonly trustedSenders: TrustedProxies
}

/**
 * Creates the middleware that records a span for each request, named after its route. Register it first, because it
 * adds the trace id to log lines.
 */
export function traceRequests(options: TraceRequestsOptions): Middleware {
  return async (ctx, next) => {
    const { span, endWithResponse } = beginSpan(options, ctx.req)
    try {
      await runWithSpan(span, next)
    } finally {
      const method = KNOWN_METHODS.has(ctx.method) ? ctx.method : 'other'
      endWithResponse({ method, route: String(ctx.state['route'] ?? 'unmatched'), status: ctx.status })
    }
  }
}

/** Records a span for a response that is sent synchronously. */
export function traceResponse(
  options: TraceRequestsOptions,
  request: IncomingMessage,
  { send, ...response }: RespondedRequest & { send(): void },
): void {
  const { span, endWithResponse } = beginSpan(options, request)
  try {
    runWithSpan(span, send)
  } finally {
    endWithResponse(response)
  }
}

function beginSpan({ tracing, trustedSenders }: TraceRequestsOptions, request: IncomingMessage) {
  // Without trusted proxies, the client address is the address of the direct sender.
  const isTrusted = trustedSenders.has(findClientAddress(request, NO_PROXIES))
  return tracing.startRequest(isTrusted ? request.headers['traceparent']?.toString() : undefined)
}

const NO_PROXIES: TrustedProxies = { has: () => false }
