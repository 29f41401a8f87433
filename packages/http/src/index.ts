export { type LimitPolicy, type LimitState, type LimitStore, memoryLimitStore } from './limits/limit-store.ts'
export { createLimiter, type Limiter, rateLimited, spendLimits } from './limits/limiter.ts'
export { redisLimitStore, runScript } from './limits/redis-limit-store.ts'
export { type SharedLimitStore, takeAhead } from './limits/take-ahead.ts'
export { describeError } from './observability/describe-error.ts'
export { createLog, type Log, type LogFields, readLog } from './observability/log.ts'
export { createMetrics, type Metrics, poolMetrics } from './observability/metrics.ts'
export type { ErrorForm } from './problems/answer-errors.ts'
export {
  oauthDescription,
  oauthError,
  Problem,
  type ProblemDocument,
  problemDocument,
  problemUrl,
} from './problems/problem.ts'
export { PROBLEM_CODES, type ProblemCode, problemKind } from './problems/problems.ts'
export {
  createReadiness,
  type Finding,
  operationsApp,
  type Readiness,
  type ReadinessChecks,
} from './readiness/readiness.ts'
export { bySoundClock, type WatchedClock, watchClock } from './readiness/watch-clock.ts'
export { addressNetworks, parseTrustedProxies, type TrustedProxies } from './request/client-address.ts'
export { FORM_TYPE, readForm } from './request/read-body.ts'
export { headersNamed, type RequestHandler } from './request/request-context.ts'
export { documentRoutes } from './routing/document-routes.ts'
export { type Authenticators, mountRoutes } from './routing/mount-routes.ts'
export {
  type PreparedAnswer,
  prepareAnswer,
  preparedOnce,
  publicCaching,
} from './routing/prepared-answer.ts'
export { type QuickAnswer, type QuickAnswersOptions, quickAnswers } from './routing/quick-answers.ts'
export {
  type Access,
  type Caller,
  defineRoute,
  type RawRoute,
  type RequestFacts,
  type Route,
  type RouteLimits,
  surfaceOf,
} from './routing/route.ts'
export { type AppOptions, createApp } from './server/create-app.ts'
export { GATEWAY_CHECK_HOST, runApp } from './server/run-app.ts'
export { runRepeatedly } from './server/run-repeatedly.ts'
export { type RunningServer, serve, shutdownSignal } from './server/server.ts'
