import { AsyncLocalStorage } from 'node:async_hooks'

type SpanAttributes = Readonly<Record<string, string | number>>

/** What is asked of somebody else: a store, the other app. */
export interface TracedCall {
  /** Of few: a statement's verb, a command, an endpoint. Never what was asked about. */
  readonly name: string
  readonly attributes: SpanAttributes
}

/** A span while its work runs. */
export interface RunningSpan {
  readonly traceId: string
  /** For whoever is asked under it (W3C Trace Context §3.2). */
  readonly traceparent: string
  /** Whether the request is still answered; what it left behind belongs to nobody. */
  isOpen(): boolean
  /** @returns undefined when the request has had as many as it may have */
  call(call: TracedCall): RunningSpan | undefined
  /** Says what kind of failure it was, and nothing of its text, which may quote somebody's data. */
  failed(error: unknown): void
  end(): void
}

const running = new AsyncLocalStorage<RunningSpan>()

/** Runs `work` as what `span` stands for. */
export const runUnder = <T>(span: RunningSpan, work: () => T): T => running.run(span, work)

/** A span around `work`, where a request is traced; else `work` alone. */
export function traced<T>(call: () => TracedCall, work: () => Promise<T>): Promise<T> {
  const around = running.getStore()
  const span = around?.isOpen() ? around.call(call()) : undefined
  return span ? during(span, work) : work()
}

async function during<T>(span: RunningSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await runUnder(span, work)
  } catch (error) {
    span.failed(error)
    throw error
  } finally {
    span.end()
  }
}

/** The header by which whoever is asked goes on with the trace, where there is one. */
export function traceHeaders(): { traceparent?: string } {
  const span = running.getStore()
  return span?.isOpen() ? { traceparent: span.traceparent } : {}
}

/** What a log line says of the trace in which it is written. */
export function traceFields(): { trace_id?: string } {
  const span = running.getStore()
  return span?.isOpen() ? { trace_id: span.traceId } : {}
}
