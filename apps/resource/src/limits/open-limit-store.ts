import type { EventEmitter } from 'node:events'
import {
  type LimitStore,
  type Log,
  prefetchingLimitStore,
  redisLimitStore,
  runScript,
  type SharedLimitStore,
} from '@plainpath/http'
import { traced } from '@plainpath/tracing'
import { createClient } from 'redis'

const ANSWER_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000
/** A connection on which nothing is heard for so long, pings included, is dropped and made anew. */
const SILENCE_MS = 1_500
const LONGEST_RETRY_MS = 1_000

/**
 * Counts limits in Redis, where every key begins with `resource:`. It opens at once, connected or not: while Redis
 * is away each call fails at once, and none takes longer than 0.2 s.
 */
export function openLimitStore(
  url: string,
  deps: { log: Log; now: () => Date },
): LimitStore & AsyncDisposable {
  const { log } = deps
  const redis = createClient({
    url,
    RESP: 3,
    name: 'plainpath-resource',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    pingInterval: 500,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RETRY_MS),
    },
  })
  reportOutages(redis, log)
  const connected = redis.connect().catch((error: unknown) => log.warn('limits have no Redis', { error }))
  const store = redisLimitStore(
    {
      eval: (script, keys, args) =>
        traced(EVAL, () =>
          runScript<unknown>(
            script,
            (name) => redis.evalSha(name, { keys, arguments: args }),
            () => redis.eval(script, { keys, arguments: args }),
          ),
        ),
      get: (key) => traced(GET, () => redis.get(key)),
      setIfAbsent: (key, value, seconds) =>
        traced(SET, () =>
          redis.set(key, value, { condition: 'NX', expiration: { type: 'EX', value: seconds } }),
        ),
    },
    'resource:',
  )
  const inTimeOnly: SharedLimitStore = {
    take: (...taking) => inTime(store.take(...taking)),
    takeSome: (...taking) => inTime(store.takeSome(...taking)),
    dailyKey: (day) => inTime(store.dailyKey(day)),
    cachedDailyKey: store.cachedDailyKey,
  }
  return {
    ...prefetchingLimitStore(inTimeOnly, deps.now),
    async [Symbol.asyncDispose]() {
      redis.destroy()
      await connected
    },
  }
}

/** Commands as traces tell them: the name, no key and no value. */
const command = (name: string) => {
  const call = { name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }
  return () => call
}
const [EVAL, GET, SET] = [command('eval'), command('get'), command('set')] as const

/** The client's own time-out ends when a command was sent, so a server that fell silent would hold it. */
async function inTime<T>(call: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('Redis did not answer in time')), ANSWER_TIMEOUT_MS)
  return Promise.race([call, late]).finally(() => clearTimeout(timer))
}

/** One line when Redis goes, one when it is back; each retry would say the same again. */
function reportOutages(redis: EventEmitter, log: Log): void {
  let away = false
  redis.on('error', (error: Error) => {
    if (!away) log.warn('Redis is away', { error })
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info('Redis is back')
    away = false
  })
}
