import type { Tracing, TracingOptions } from './tracing.ts'

export {
  type RespondedRequest,
  runUnder,
  type TracedCall,
  type Tracing,
  traceCall,
  traceFields,
  traceHeaders,
} from './tracing.ts'

/**
 * Opens tracing. Without a URL, does not import OpenTelemetry.
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
