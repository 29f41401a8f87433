import { AsyncLocalStorage } from 'node:async_hooks'

/*
 * Spans of requests and of the calls made for them, independent of OpenTelemetry: `otlp-tracing.ts` exports them. The current
 * span is in an AsyncLocalStorage, so stores and clients need no parameter for it.
 */

export interface TracingOptions {
  /** The collector for OTLP over HTTP; `/v1/traces` is appended. */
  readonly url: string
  /** `plainpath-auth` or `plainpath-resource`. */
  readonly service: string
  readonly version: string
  readonly log: TracingLog
}

/** The log of failures to export spans, and of the end of such failures. */
export interface TracingLog {
  info(message: string): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The outcome of a request. */
export interface RespondedRequest {
  /** One of a few. */
  readonly method: string
  /** A pattern such as `/guides/{slug}`, never the path of the request. */
  readonly route: string
  readonly status: number
}

export interface RequestSpan {
  readonly span: RunningSpan
  endWithResponse(response: RespondedRequest): void
}

/** Creates spans. Disposing exports the remaining ones, for at most two seconds. */
export interface Tracing extends AsyncDisposable {
  /** Starts the span of a request. @param traceparent of a trusted sender; a new trace begins if it is absent or invalid */
  request(traceparent: string | undefined): RequestSpan
}

type SpanAttributes = Readonly<Record<string, string | number>>

/** A call to a store or to the other app. */
export interface TracedCall {
  /** One of a small set: the verb of a statement, a command, an endpoint. Never a value. */
  readonly name: string
  readonly attributes: SpanAttributes
}

/** A span that has not ended. */
export interface RunningSpan {
  readonly traceId: string
  /** The header for calls made within this span (W3C Trace Context §3.2). */
  readonly traceparent: string
  /** False once the request has its response. Work that it left running is not traced. */
  isOpen(): boolean
  /** Starts the span of a call. @returns undefined when the request has reached its maximum of calls */
  call(call: TracedCall): RunningSpan | undefined
  /** Records the kind of a failure, but not its message, which may quote personal data. */
  failed(error: unknown): void
  end(): void
}

const running = new AsyncLocalStorage<RunningSpan>()

/** Runs `work` with `span` as the current span. */
export const runUnder = <T>(span: RunningSpan, work: () => T): T => running.run(span, work)

/** Runs `work` in a span of its own if the current request is traced. */
export function traced<T>(call: () => TracedCall, work: () => Promise<T>): Promise<T> {
  const parent = running.getStore()
  const span = parent?.isOpen() ? parent.call(call()) : undefined
  return span ? runInSpan(span, work) : work()
}

async function runInSpan<T>(span: RunningSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await runUnder(span, work)
  } catch (error) {
    span.failed(error)
    throw error
  } finally {
    span.end()
  }
}

/** Returns the header that continues the current trace in the called service; none outside a trace. */
export function traceHeaders(): { traceparent?: string } {
  const span = running.getStore()
  return span?.isOpen() ? { traceparent: span.traceparent } : {}
}

/** Returns the fields that connect a log line with the current trace. */
export function traceFields(): { trace_id?: string } {
  const span = running.getStore()
  return span?.isOpen() ? { trace_id: span.traceId } : {}
}
