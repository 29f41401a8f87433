export { type LimitPolicy, type LimitState, type LimitStore, memoryLimitStore } from './limits/limit-store.ts'
export { createLimiter, type Limiter } from './limits/limiter.ts'
export { type LimitRedis, redisLimitStore, runScript } from './limits/redis-limit-store.ts'
export { spendLimits } from './limits/spend-limits.ts'
export { type SharedLimitStore, takeAhead } from './limits/take-ahead.ts'
export { describeError } from './observability/describe-error.ts'
export { createLog, type Log, type LogFields, readLog } from './observability/log.ts'
export { createMetrics, type Metrics, type PoolUsage, poolMetrics } from './observability/metrics.ts'
export { ANYBODY, type TraceRequestsOptions, traceRequests } from './observability/trace-requests.ts'
export { type AnswerErrorsOptions, answerErrors, type ErrorForm } from './problems/answer-errors.ts'
export {
  type InputMistake,
  oauthDescription,
  oauthError,
  Problem,
  type ProblemDocument,
  type ProblemOptions,
  problemDocument,
  problemUrl,
} from './problems/problem.ts'
export type { ProblemKind } from './problems/problems.ts'
export { PROBLEM_CODES, type ProblemCode, problemKind } from './problems/problems.ts'
export {
  createReadiness,
  type Finding,
  operationsApp,
  type Readiness,
  type ReadinessChecks,
} from './readiness/readiness.ts'
export {
  bySoundClock,
  onlyReadsByWrongClock,
  type WatchedClock,
  watchClock,
} from './readiness/watch-clock.ts'
export {
  addressNetworks,
  clientAddress,
  parseTrustedProxies,
  type TrustedProxies,
} from './request/client-address.ts'
export { type CrossOriginOptions, crossOrigin } from './request/cross-origin.ts'
export { JsonError, parseJson } from './request/parse-json.ts'
export { BODY_LIMIT_BYTES, FORM_TYPE, readForm, readJson } from './request/read-body.ts'
export {
  headersNamed,
  pageHeaders,
  type RequestContextOptions,
  requestContext,
} from './request/request-context.ts'
export { requireHost } from './request/require-host.ts'
export { documentRoutes, type StaticDocument } from './routing/document-routes.ts'
export { type Authenticators, mountRoutes } from './routing/mount-routes.ts'
export { type PreparedAnswer, prepareAnswer, preparedOnce, publicCaching } from './routing/prepared-answer.ts'
export { type QuickAnswer, type QuickAnswersOptions, quickAnswers } from './routing/quick-answers.ts'
export {
  type Access,
  type Caller,
  defineRoute,
  type RequestFacts,
  type Route,
  type RouteLimits,
  type TextReply,
} from './routing/route.ts'
export { GATEWAY_CHECK_HOST, type OpenedApp, type RunAppOptions, runApp } from './server/run-app.ts'
export {
  type ConnectionLimits,
  type RequestHandler,
  type RunningServer,
  type ServeOptions,
  serve,
  shutdownSignal,
} from './server/server.ts'
