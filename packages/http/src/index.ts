export { listClientLimits } from './limits/client-limits.ts'
export { createRateLimitedProblem, enforceLimits, type LimitRefusal } from './limits/enforce-limits.ts'
export {
  createMemoryLimitStore,
  type LimitPolicy,
  type LimitStore,
} from './limits/limit-store.ts'
export { createLimiter, type Limiter } from './limits/limiter.ts'
export { createPrefetchingLimitStore } from './limits/prefetching-limit-store.ts'
export { createRedisLimitStore, type LimitRedisClient } from './limits/redis-limit-store.ts'
export { runCachedScript } from './limits/run-cached-script.ts'
export { createSlotCounter } from './limits/slot-counter.ts'
export { describeError } from './observability/describe-error.ts'
export { createLog, type Log, type LogFields, readLog, selectLinesSince } from './observability/log.ts'
export { createMetrics, type Metrics, registerPoolMetrics } from './observability/metrics.ts'
export { explainToPerson } from './problems/explain-to-person.ts'
export type { ErrorFormat } from './problems/handle-errors.ts'
export {
  createProblemDocument,
  formatProblemUrl,
  Problem,
  type ProblemDocument,
  toOauthDescription,
  toOauthError,
} from './problems/problem.ts'
export { getProblemKind, PROBLEM_CODES, type ProblemCode } from './problems/problems.ts'
export {
  createOperationsApp,
  createReadiness,
  type Finding,
  type Readiness,
  type ReadinessChecks,
} from './readiness/readiness.ts'
export { type WatchedClock, watchClock, withSynchronisedClock } from './readiness/watch-clock.ts'
export { listNetworks, parseTrustedProxies, type TrustedProxies } from './request/client-address.ts'
export { requireSameOrigin } from './request/cross-origin.ts'
export { JsonError, parseJson } from './request/parse-json.ts'
export { FORM_TYPE, readForm, readJson } from './request/read-body.ts'
export { findHeaders, listAcceptedHosts, type RequestHandler } from './request/request-context.ts'
export { createDocumentRoutes } from './routing/document-routes.ts'
export { createFastPath, type FastPathOptions, type FastPathResponse } from './routing/fast-path.ts'
export { type Authenticators, mountRoutes, parseInput } from './routing/mount-routes.ts'
export {
  allowPublicCaching,
  type PreparedResponse,
  prepareOnce,
  prepareResponse,
} from './routing/prepared-response.ts'
export {
  type Access,
  type AuthenticatedClient,
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
export { createRepeatedWork } from './server/repeated-work.ts'
export { GATEWAY_CHECK_HOST, runApp } from './server/run-app.ts'
export { type RunningServer, serve, waitForShutdownSignal } from './server/server.ts'
export { startTimeout } from './server/start-timeout.ts'
