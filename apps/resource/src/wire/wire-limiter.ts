import { createLimiter, type Limiter, type Log, type Metrics, memoryLimitStore } from '@plainpath/http'
import type { Config } from '../config.ts'
import { openLimitStore } from '../limits/open-limit-store.ts'

/** Counts requests for all processes where there is a Redis, and for this one where there is none. */
export function wireLimiter(
  config: Config,
  { metrics, log, now }: { metrics: Metrics; log: Log; now: () => Date },
  opening: AsyncDisposableStack,
): Limiter {
  const store = config.redisUrl
    ? opening.use(openLimitStore(config.redisUrl, { log, now }))
    : memoryLimitStore(now)
  return createLimiter({ store, factor: config.limitsFactor, now, log, onDecision: metrics.limited })
}
