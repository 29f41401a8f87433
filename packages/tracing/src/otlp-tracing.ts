import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { RequestSpan, RunningSpan, Tracing, TracingOptions } from './tracing.ts'

/** While this many spans wait to be exported, new spans are dropped. */
const MAX_QUEUED_SPANS = 2_048
const MAX_BATCH_SPANS = 512
const BATCH_INTERVAL_MS = 1_000
/** The maximum number of spans for the calls of one request. */
const MAX_CALL_SPANS = 200

/**
 * Creates a `Tracing` that exports spans in batches, in the background. It registers no global OpenTelemetry provider or context
 * manager, because two apps may run in one process.
 */
export function createOtlpTracing(options: TracingOptions): Tracing {
  const provider = new TracerProvider({
    // Records every request, unless its `traceparent` says that the trace is not sampled.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    resource: resourceFromAttributes({
      'service.name': options.service,
      'service.version': options.version,
      'service.instance.id': randomUUID(),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: createBoundedExporter(options),
        maxQueueSize: MAX_QUEUED_SPANS,
        maxExportBatchSize: MAX_BATCH_SPANS,
        scheduledDelayMillis: BATCH_INTERVAL_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('plainpath')
  return {
    startRequest: (traceparent) => startRequestSpan(tracer, traceparent),
    async [Symbol.asyncDispose]() {
      const timeLimit = sleep(EXPORT_TIMEOUT_MS, undefined, { ref: false })
      // The exporter logs failed exports. They must not fail the disposal.
      await Promise.race([provider.shutdown().catch(() => undefined), timeLimit])
    },
  }
}

function startRequestSpan(tracer: Tracer, traceparent: string | undefined): RequestSpan {
  const remoteParent = parseTraceparent(traceparent)
  const context = remoteParent ? trace.setSpanContext(ROOT_CONTEXT, remoteParent) : ROOT_CONTEXT
  // A provisional name: the request may not have been routed yet.
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, context)
  const requestState = { isOpen: true, callCount: 0 }
  return {
    span: wrapSpan(tracer, { span, context: trace.setSpan(ROOT_CONTEXT, span), requestState }),
    endWithResponse({ method, route, status }) {
      requestState.isOpen = false
      span.updateName(`${method} ${route}`)
      span.setAttributes({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
      })
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

interface SpanParts {
  readonly span: Span
  readonly context: Context
  /** Shared by all spans of the request. */
  readonly requestState: { isOpen: boolean; callCount: number }
}

function wrapSpan(tracer: Tracer, { span, context, requestState }: SpanParts): RunningSpan {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`,
    isOpen: () => requestState.isOpen,
    startCall({ name, attributes }) {
      if (requestState.callCount >= MAX_CALL_SPANS) return undefined
      requestState.callCount += 1
      const child = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...attributes } }, context)
      return wrapSpan(tracer, { span: child, context: trace.setSpan(ROOT_CONTEXT, child), requestState })
    },
    recordFailure(error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttributes(createErrorAttributes(error))
    },
    end: () => span.end(),
  }
}

/** Matches a short word such as `23505` or `TypeError`. Other text could quote personal data. */
const ERROR_KIND = /^\w{1,40}$/

function createErrorAttributes(error: unknown): Attributes {
  if (!(error instanceof Error)) return { 'error.type': typeof error }
  const { code } = error as { code?: unknown }
  const kind = [code, error.name]
    .filter((candidate) => typeof candidate === 'string')
    .find((candidate) => ERROR_KIND.test(candidate))
  return { 'error.type': kind ?? 'Error' }
}

/** Matches W3C Trace Context §3.2, version 00. A header of a later version begins a new trace: neither app sends one. */
const TRACEPARENT = /^00-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/

function parseTraceparent(traceparent: string | undefined): SpanContext | undefined {
  const { traceId = '', spanId = '', flags = '' } = TRACEPARENT.exec(traceparent ?? '')?.groups ?? {}
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  const context = { traceId, spanId, traceFlags, isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}

/** The time limit for exporting a batch, including retries, and for the final export on disposal. */
const EXPORT_TIMEOUT_MS = 2_000
/**
 * More than the five batches that can be in flight on disposal, which exports all batches at once: the four of a full queue,
 * and one that was sent before.
 */
const MAX_CONCURRENT_EXPORTS = 8

/**
 * Creates an exporter to the collector, with limits on the time and the number of concurrent exports. It logs the first failure
 * of a series, and the first success after the series.
 */
function createBoundedExporter({ url, log }: TracingOptions): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url: `${url}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: MAX_CONCURRENT_EXPORTS,
  })
  // A batch may start within a request's context, but its log lines must not contain that request's trace id.
  const runOutsideRequest = AsyncLocalStorage.snapshot()
  let isFailing = false
  const logChange = (error: Error | undefined, hasFailed: boolean) => {
    if (hasFailed && !isFailing) log.warn('traces cannot be delivered', { error })
    if (!hasFailed && isFailing) log.info('traces are delivered again')
    isFailing = hasFailed
  }
  return {
    export(spans, onResult) {
      runOutsideRequest(() =>
        exporter.export(spans, (result) => {
          logChange(result.error, result.code !== SUCCESS)
          onResult(result)
        }),
      )
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`, which is not a direct dependency. */
const SUCCESS = 0
