import type { Tracing, TracingOptions } from './tracing.ts'

export {
  getTraceFields,
  getTraceHeaders,
  type RespondedRequest,
  runWithSpan,
  type TracedCall,
  type Tracing,
  traceCall,
} from './tracing.ts'

/**
 * Opens tracing. Imports OpenTelemetry only if `url` names a collector.
 *
 * @returns undefined without a URL
 */
export async function openTracing(
  options: Omit<TracingOptions, 'url'> & { readonly url: string | undefined },
): Promise<Tracing | undefined> {
  const { url } = options
  if (url === undefined) return undefined
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing({ ...options, url })
}
