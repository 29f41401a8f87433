import { createLimiter, type Limiter, type Log, type Metrics, memoryLimitStore } from '@plainpath/http'
import type { Config } from '../config.ts'
import { sharedLimits } from '../limit-redis.ts'
import type { openStores } from './wire-stores.ts'

/** Counts in Redis where there is one, else in this process. */
export const wireLimiter = (
  config: Config,
  deps: Pick<Awaited<ReturnType<typeof openStores>>, 'redis' | 'redisPrefix'> & {
    metrics: Metrics
    log: Log
    now: () => Date
  },
): Limiter =>
  createLimiter({
    store: deps.redis ? sharedLimits(deps.redis, deps.redisPrefix, deps.now) : memoryLimitStore(deps.now),
    factor: config.limitsFactor,
    now: deps.now,
    log: deps.log,
    onDecision: deps.metrics.limited,
  })
