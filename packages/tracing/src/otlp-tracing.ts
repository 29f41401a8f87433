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

/** Beyond these, spans are dropped. */
const MOST_WAITING = 2_048
const MOST_IN_A_BATCH = 512
const BATCH_EVERY_MS = 1_000
/** Further calls of a request get no span. */
const MOST_CALLS = 200

/**
 * Creates tracing that exports spans in batches, in the background. No global provider or context of OpenTelemetry is set,
 * since two apps may run in one process.
 */
export function otlpTracing(options: TracingOptions): Tracing {
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    resource: resourceFromAttributes({
      'service.name': options.service,
      'service.version': options.version,
      'service.instance.id': randomUUID(),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: boundedExporter(options),
        maxQueueSize: MOST_WAITING,
        maxExportBatchSize: MOST_IN_A_BATCH,
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('plainpath')
  return {
    request: (traceparent) => requestSpan(tracer, traceparent),
    async [Symbol.asyncDispose]() {
      const late = sleep(EXPORT_MS, undefined, { ref: false })
      await Promise.race([provider.shutdown().catch(() => undefined), late])
    },
  }
}

function requestSpan(tracer: Tracer, traceparent: string | undefined): RequestSpan {
  const remote = remoteSpan(traceparent)
  const context = remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
  // The sampler sees this name; the route is known at the end.
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, context)
  const request = { open: true, calls: 0 }
  return {
    span: runningSpan(tracer, { span, context: trace.setSpan(ROOT_CONTEXT, span), request }),
    endWithResponse({ method, route, status }) {
      request.open = false
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
  readonly request: { open: boolean; calls: number }
}

function runningSpan(tracer: Tracer, { span, context, request }: SpanParts): RunningSpan {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`,
    isOpen: () => request.open,
    call({ name, attributes }) {
      if (request.calls >= MOST_CALLS) return undefined
      request.calls += 1
      const child = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...attributes } }, context)
      return runningSpan(tracer, { span: child, context: trace.setSpan(ROOT_CONTEXT, child), request })
    },
    failed(error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttributes(errorAttributes(error))
    },
    end: () => span.end(),
  }
}

const KIND = /^\w{1,40}$/

function errorAttributes(error: unknown): Attributes {
  if (!(error instanceof Error)) return { 'error.type': typeof error }
  const { code } = error as { code?: unknown }
  const kind = [code, error.name].filter((each) => typeof each === 'string').find((each) => KIND.test(each))
  return { 'error.type': kind ?? 'Error' }
}

/** W3C Trace Context §3.2, version 00. Later versions are ignored, since neither app sends them. */
const TRACEPARENT = /^00-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/

function remoteSpan(traceparent: string | undefined): SpanContext | undefined {
  const { traceId = '', spanId = '', flags = '' } = TRACEPARENT.exec(traceparent ?? '')?.groups ?? {}
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  const context = { traceId, spanId, traceFlags, isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}

/** The time limit for exporting a batch, retries included, and for the last export when the process ends. */
const EXPORT_MS = 2_000
/** Enough for the whole queue, which is exported at once when the process ends: five batches. */
const MOST_EXPORTS_AT_ONCE = 8

/** Exports to the collector, and logs the first failure and the first success after it. */
function boundedExporter({ url, log }: TracingOptions): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url: `${url}/v1/traces`,
    timeoutMillis: EXPORT_MS,
    concurrencyLimit: MOST_EXPORTS_AT_ONCE,
  })
  // A batch starts within the context of some request; its log lines must not carry that request's trace id.
  const outside = AsyncLocalStorage.snapshot()
  let failing = false
  const logChange = (error: Error | undefined, failed: boolean) => {
    if (failed && !failing) log.warn('traces cannot be delivered', { error })
    if (!failed && failing) log.info('traces are delivered again')
    failing = failed
  }
  return {
    export(spans, onResult) {
      outside(() =>
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
