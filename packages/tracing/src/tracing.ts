import type { RunningSpan } from './running-span.ts'

export interface TracingOptions {
  /** Where OTLP over HTTP is taken; `/v1/traces` is put behind it. */
  readonly url: string
  /** `plainpath-auth` or `plainpath-resource`. */
  readonly service: string
  readonly version: string
  readonly log: TracingLog
}

/** What is said when spans cannot be delivered, and when they can again. */
export interface TracingLog {
  info(message: string): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** How a request ended. */
export interface AnsweredRequest {
  /** One of a few. */
  readonly method: string
  /** A pattern such as `/guides/{slug}`, never what was asked for. */
  readonly route: string
  readonly status: number
}

export interface RequestSpan {
  readonly span: RunningSpan
  answered(answer: AnsweredRequest): void
}

/** Disposing delivers what waits, for at most two seconds. */
export interface Tracing extends AsyncDisposable {
  /** @param traceparent of somebody whose word is taken; else, or when it is none, a trace begins */
  request(traceparent: string | undefined): RequestSpan
}
