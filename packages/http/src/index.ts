export { clientLimits } from './limits/client-limits.ts'
export { type LimitPolicy, type LimitState, type LimitStore, memoryLimitStore } from './limits/limit-store.ts'
export { createLimiter, type Limiter } from './limits/limiter.ts'
export { prefetchingLimitStore, type SharedLimitStore } from './limits/prefetching-limit-store.ts'
export { type LimitRedis, redisLimitStore, runScript } from './limits/redis-limit-store.ts'
export { rateLimited, spendLimits } from './limits/spend-limits.ts'
export { describeError } from './observability/describe-error.ts'
export { createLog, type Log, type LogFields, readLog } from './observability/log.ts'
export { createMetrics, type Metrics, poolMetrics } from './observability/metrics.ts'
export type { ErrorForm } from './problems/handle-errors.ts'
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
export { type WatchedClock, watchClock, withSynchronisedClock } from './readiness/watch-clock.ts'
export { addressNetworks, parseTrustedProxies, type TrustedProxies } from './request/client-address.ts'
export { requireSameOrigin } from './request/cross-origin.ts'
export { JsonError, parseJson } from './request/parse-json.ts'
export { FORM_TYPE, readForm, readJson } from './request/read-body.ts'
export { acceptedHosts, headersNamed, type RequestHandler } from './request/request-context.ts'
export { documentRoutes } from './routing/document-routes.ts'
export { type FastPathOptions, type FastPathResponse, fastPath } from './routing/fast-path.ts'
export { type Authenticators, mountRoutes } from './routing/mount-routes.ts'
export {
  type PreparedResponse,
  prepareOnce,
  prepareResponse,
  publicCaching,
} from './routing/prepared-response.ts'
export {
  type Access,
  type Caller,
  defineRoute,
  listEndpoints,
  type RawRoute,
  type RequestFacts,
  type Route,
  type RouteLimits,
  type RouteReply,
} from './routing/route.ts'
export { type AppOptions, createApp } from './server/create-app.ts'
export { GATEWAY_CHECK_HOST, runApp } from './server/run-app.ts'
export { runRepeatedly } from './server/run-repeatedly.ts'
export { type RunningServer, serve, shutdownSignal } from './server/server.ts'
