export { type AnswerErrorsOptions, answerErrors, type ErrorForm } from './answer-errors.ts'
export { addressNetworks, parseTrustedProxies, type TrustedProxies } from './client-address.ts'
export { crossOrigin } from './cross-origin.ts'
export { describeError } from './describe-error.ts'
export { documentRoutes } from './document-routes.ts'
export { GATEWAY_CHECK_HOST } from './gateway-check.ts'
export { headersNamed } from './headers-named.ts'
export { type LimitPolicy, type LimitStore, memoryLimitStore } from './limit-store.ts'
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
export { type PoolUsage, poolMetrics } from './pool-metrics.ts'
export { type PreparedAnswer, prepareAnswer, preparedOnce } from './prepared-answer.ts'
export {
  oauthDescription,
  oauthError,
  Problem,
  type ProblemDocument,
  problemDocument,
  problemUrl,
} from './problem.ts'
export { PROBLEM_CODES, type ProblemCode, problemKind } from './problems.ts'
export { type QuickAnswer, type QuickAnswersOptions, quickAnswers } from './quick-answers.ts'
export { FORM_TYPE, readForm } from './read-body.ts'
export { readLog } from './read-log.ts'
export { type LimitRedis, redisLimitStore } from './redis-limit-store.ts'
export { requestContext } from './request-context.ts'
export { requireHost } from './require-host.ts'
export {
  type Access,
  type Caller,
  defineRoute,
  type RequestFacts,
  type Route,
  type RouteLimits,
} from './route.ts'
export { runApp } from './run-app.ts'
export { runScript } from './run-script.ts'
export {
  type RequestHandler,
  type RunningServer,
  type ServeOptions,
  serve,
  shutdownSignal,
} from './server.ts'
export { spendLimits } from './spend-limits.ts'
export { type SharedLimitStore, takeAhead } from './take-ahead.ts'
export { ANYBODY, traceRequests } from './trace-requests.ts'
export { bySoundClock, onlyReadsByWrongClock, type WatchedClock, watchClock } from './watch-clock.ts'
