import type { Tracing, TracingOptions } from './tracing.ts'

export {
  type RespondedRequest,
  runUnder,
  type TracedCall,
  type Tracing,
  traced,
  traceFields,
  traceHeaders,
} from './tracing.ts'

/** Opens tracing. @returns undefined without a URL; OpenTelemetry is then not even imported */
export async function openTracing(
  options: Omit<TracingOptions, 'url'> & { readonly url: string | undefined },
): Promise<Tracing | undefined> {
  const { url } = options
  if (url === undefined) return undefined
  const { otlpTracing } = await import('./otlp-tracing.ts')
  return otlpTracing({ ...options, url })
}
