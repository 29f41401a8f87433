import { AsyncLocalStorage } from 'node:async_hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { TracingOptions } from './tracing.ts'

/** How long a batch may take to be delivered, tries and all, and how long the end of the process waits for the last. */
export const DELIVERY_MS = 2_000
/** The whole queue goes out at once at the end: five batches. */
const MOST_DELIVERIES_AT_ONCE = 8

/** Delivers to the collector, and says once that it cannot, and once that it can again. */
export function boundedExporter({ url, log }: TracingOptions): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url: `${url}/v1/traces`,
    timeoutMillis: DELIVERY_MS,
    concurrencyLimit: MOST_DELIVERIES_AT_ONCE,
  })
  // Batches are begun by whichever request came last; what is said of them is not said of it.
  const outside = AsyncLocalStorage.snapshot()
  let away = false
  const tell = (error: Error | undefined, failed: boolean) => {
    if (failed && !away) log.warn('traces cannot be delivered', { error })
    if (!failed && away) log.info('traces are delivered again')
    away = failed
  }
  return {
    export(spans, onResult) {
      outside(() =>
        exporter.export(spans, (result) => {
          tell(result.error, result.code !== DELIVERED)
          onResult(result)
        }),
      )
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
}

/** `ExportResultCode.SUCCESS` of a package that is not ours to name. */
const DELIVERED = 0
