import { once } from 'node:events'
import type { Log } from '@plainpath/http'
import { Redis } from 'ioredis'

/**
 * Opens a connection to Redis that fails fast: each command times out after `timeoutMs` (0.2 s), connecting after 1 s,
 * and nothing queues while Redis is away. A connection that is silent for twice `timeoutMs` is replaced, so that
 * pending commands cannot pile up on it.
 *
 * @throws when Redis cannot be reached within 5 s, or when it may evict keys: an evicted token or limit would vanish
 *   silently, so only `noeviction` is accepted
 */
export async function openRedis(url: string, log: Log, timeoutMs = 200): Promise<Redis & AsyncDisposable> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    connectTimeout: 1_000,
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
  })
  let reported = false
  redis.on('error', (error: Error) => {
    if (!reported) log.error('Redis is unavailable', { error })
    reported = true
  })
  redis.on('ready', () => {
    if (reported) log.info('Redis is available again')
    reported = false
  })
  const close = async () => redis.disconnect()
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(5_000) })
    const memory = await redis.info('memory')
    const policy = /^maxmemory_policy:(?<policy>\S+)/m.exec(memory)?.groups?.['policy']
    if (policy !== 'noeviction')
      throw new Error(`redis must run with maxmemory-policy noeviction, not ${policy ?? 'an unknown one'}`)
  } catch (error) {
    await close()
    throw error
  }
  return Object.assign(redis, { [Symbol.asyncDispose]: close })
}

/** Messages of ioredis, whose errors carry no code. */
const CLIENT_GAVE_UP =
  /^(Command timed out|Socket timeout|Connection is closed|Stream isn't writeable|Reached the max retries)/
/** Error prefixes of Redis (redis.io, "Redis serialization protocol", errors) that mean "not now". */
const SERVER_CANNOT_NOW = /^(READONLY|LOADING|MASTERDOWN|OOM|CLUSTERDOWN|MISCONF|NOREPLICAS|BUSY|TRYAGAIN) /

const LOST: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
])
/** System calls whose failure, whatever its code, means no connection: an unresolved name, or no file descriptor left. */
const REACHING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** True when Redis was unavailable, as opposed to rejecting a command as wrong. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  return (
    CLIENT_GAVE_UP.test(error.message) ||
    SERVER_CANNOT_NOW.test(error.message) ||
    LOST.has(code) ||
    REACHING.has(syscall)
  )
}
