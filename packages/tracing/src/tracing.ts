import { AsyncLocalStorage } from 'node:async_hooks'

/*
 * Spans of requests and of the calls that are made for them, independent of OpenTelemetry: `otlp-tracing.ts` exports them. The
 * current span is in an AsyncLocalStorage, so stores and clients need no parameter for it.
 */

export interface TracingOptions {
  /** The collector for OTLP over HTTP; `/v1/traces` is appended. */
  readonly url: string
  /** `plainpath-auth` or `plainpath-resource`. */
  readonly service: string
  readonly version: string
  readonly log: TracingLog
}

/** The log for failures to export spans, and for recoveries. */
export interface TracingLog {
  info(message: string): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The outcome of a request. */
export interface RespondedRequest {
  /** One of the known methods, or `other`. */
  readonly method: string
  /** A pattern such as `/guides/{slug}`, never the request path. */
  readonly route: string
  readonly status: number
}

/** The span of a request that has no response yet. */
export interface RequestSpan {
  readonly span: RunningSpan
  /** Records the outcome, ends the span, and closes it for further calls. */
  endWithResponse(response: RespondedRequest): void
}

/** Creates spans. Disposing exports the remaining spans, for at most two seconds. */
export interface Tracing extends AsyncDisposable {
  /**
   * Starts the span of a request.
   *
   * @param traceparent the header of a trusted sender. If it is absent or invalid, a new trace begins
   */
  startRequest(traceparent: string | undefined): RequestSpan
}

type SpanAttributes = Readonly<Record<string, string | number>>

/** A call to a store or to the other app. */
export interface TracedCall {
  /** A name from a small set, such as the verb of a statement, a command or an endpoint. It never contains a value. */
  readonly name: string
  readonly attributes: SpanAttributes
}

/** A span that has not ended. */
export interface RunningSpan {
  readonly traceId: string
  /** The header for calls made within this span (W3C Trace Context §3.2). */
  readonly traceparent: string
  /** Returns false once the request has its response. Calls that begin later are not traced. */
  isOpen(): boolean
  /**
   * Starts the span of a call.
   *
   * @returns undefined if the request has reached its maximum number of calls
   */
  startCall(call: TracedCall): RunningSpan | undefined
  /** Records the kind of a failure, but not its message, which may quote personal data. */
  recordFailure(error: unknown): void
  end(): void
}

const currentSpan = new AsyncLocalStorage<RunningSpan>()

/** Runs `work` with `span` as the current span. */
export const runWithSpan = <T>(span: RunningSpan, work: () => T): T => currentSpan.run(span, work)

/**
 * Runs `work` in a span of its own if the current request is traced and has no response yet.
 *
 * @param describeCall called only under this condition
 */
export function traceCall<T>(describeCall: () => TracedCall, work: () => Promise<T>): Promise<T> {
  const parent = currentSpan.getStore()
  const span = parent?.isOpen() ? parent.startCall(describeCall()) : undefined
  return span ? runInSpan(span, work) : work()
}

async function runInSpan<T>(span: RunningSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await runWithSpan(span, work)
  } catch (error) {
    span.recordFailure(error)
    throw error
  } finally {
    span.end()
  }
}

/** Returns the header that continues the current trace in the called service. Outside a trace, returns no header. */
export function getTraceHeaders(): { traceparent?: string } {
  const span = currentSpan.getStore()
  return span?.isOpen() ? { traceparent: span.traceparent } : {}
}

/** Returns the fields that connect a log line with the current trace. Outside a trace, returns no fields. */
export function getTraceFields(): { trace_id?: string } {
  const span = currentSpan.getStore()
  return span?.isOpen() ? { trace_id: span.traceId } : {}
}
