export { type AnswerErrorsOptions, answerErrors, type ErrorForm } from './answer-errors.ts'
export { addressNetworks, clientAddress, parseTrustedProxies, type TrustedProxies } from './client-address.ts'
export { type CrossOriginOptions, crossOrigin } from './cross-origin.ts'
export { describeError } from './describe-error.ts'
export { documentRoutes, type StaticDocument } from './document-routes.ts'
export { GATEWAY_CHECK_HOST } from './gateway-check.ts'
export { headersNamed } from './headers-named.ts'
export { type LimitPolicy, type LimitState, type LimitStore, memoryLimitStore } from './limit-store.ts'
export { createLimiter, type Limiter } from './limiter.ts'
export { createLog, type Log, type LogFields } from './log.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { type Authenticators, mountRoutes, publicCaching } from './mount-routes.ts'
export {
  createReadiness,
  type Finding,
  operationsApp,
  type Readiness,
  type ReadinessChecks,
} from './operations.ts'
export { pageHeaders } from './page-headers.ts'
export { JsonError, parseJson } from './parse-json.ts'
export { type PoolUsage, poolMetrics } from './pool-metrics.ts'
export { type PreparedAnswer, prepareAnswer, preparedOnce } from './prepared-answer.ts'
export {
  type InputMistake,
  oauthDescription,
  oauthError,
  Problem,
  type ProblemDocument,
  type ProblemOptions,
  problemDocument,
  problemUrl,
} from './problem.ts'
export type { ProblemKind } from './problem-kind.ts'
export { PROBLEM_CODES, type ProblemCode, problemKind } from './problems.ts'
export { type QuickAnswer, type QuickAnswersOptions, quickAnswers } from './quick-answers.ts'
export { BODY_LIMIT_BYTES, FORM_TYPE, readForm, readJson } from './read-body.ts'
export { readLog } from './read-log.ts'
export { type LimitRedis, redisLimitStore } from './redis-limit-store.ts'
export { type RequestContextOptions, requestContext } from './request-context.ts'
export { requireHost } from './require-host.ts'
export {
  type Access,
  type Caller,
  defineRoute,
  type RequestFacts,
  type Route,
  type RouteLimits,
  type TextReply,
} from './route.ts'
export { type OpenedApp, type RunAppOptions, runApp } from './run-app.ts'
export { runScript } from './run-script.ts'
export {
  type ConnectionLimits,
  type RequestHandler,
  type RunningServer,
  type ServeOptions,
  serve,
  shutdownSignal,
} from './server.ts'
export { spendLimits } from './spend-limits.ts'
export { type SharedLimitStore, takeAhead } from './take-ahead.ts'
export { ANYBODY, type TraceRequestsOptions, traceRequests } from './trace-requests.ts'
export { bySoundClock, onlyReadsByWrongClock, type WatchedClock, watchClock } from './watch-clock.ts'
