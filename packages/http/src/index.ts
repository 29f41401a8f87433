export { type AnswerErrorsOptions, answerErrors, type ErrorForm } from './answer-errors.ts'
export { addressNetworks, clientAddress, parseTrustedProxies, type TrustedProxies } from './client-address.ts'
export { type CrossOriginOptions, crossOrigin } from './cross-origin.ts'
export { describeError } from './describe-error.ts'
export { documentRoutes, type StaticDocument } from './document-routes.ts'
export { type LimitPolicy, type LimitStore, memoryLimitStore } from './limit-store.ts'
export { createLimiter, type Limiter, type LimitState } from './limiter.ts'
export { createLog, type Log, type LogFields } from './log.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { type Authenticators, mountRoutes, publicCaching } from './mount-routes.ts'
export { createReadiness, operationsApp, type Readiness, type ReadinessChecks } from './operations.ts'
export { JsonError, parseJson } from './parse-json.ts'
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
export { PROBLEM_CODES, type ProblemCode, type ProblemKind, problemKind } from './problems.ts'
export { BODY_LIMIT_BYTES, FORM_TYPE, readForm, readJson } from './read-body.ts'
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
export {
  type ConnectionLimits,
  type RequestHandler,
  type RunningServer,
  type ServeOptions,
  serve,
  shutdownSignal,
} from './server.ts'
export { spendLimits } from './spend-limits.ts'
