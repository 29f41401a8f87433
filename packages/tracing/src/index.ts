export { openTracing } from './open-tracing.ts'
export {
  runUnder,
  type TracedCall,
  traced,
  traceFields,
  traceHeaders,
} from './running-span.ts'
export {
  type AnsweredRequest,
  type Tracing,
  type TracingLog,
} from './tracing.ts'
