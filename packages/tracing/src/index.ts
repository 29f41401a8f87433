export { openTracing } from './open-tracing.ts'
export {
  runUnder,
  type SpanAttributes,
  type TracedCall,
  traced,
  traceFields,
  traceHeaders,
} from './running-span.ts'
export {
  type AnsweredRequest,
  type RequestSpan,
  type Tracing,
  type TracingLog,
  type TracingOptions,
} from './tracing.ts'
