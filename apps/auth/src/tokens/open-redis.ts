import { once } from 'node:events'
import type { Log } from '@plainpath/http'
import { Redis } from 'ioredis'

/**
 * A connection to Redis on which nothing waits: `timeoutMs` (0.2 s) for an answer, 1 s to connect, no queue while it is
 * away. One that says nothing for twice that time is dropped and made anew, so that what waits cannot pile up on it.
 *
 * @throws when it cannot be reached in 5 s, or when it may evict keys: an evicted token or limit would be
 *   forgotten silently, so only `noeviction` is accepted
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
    if (!reported) log.error('redis does not answer', { error })
    reported = true
  })
  redis.on('ready', () => {
    if (reported) log.info('redis answers again')
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

/** What ioredis says, in errors that carry no code. */
const CLIENT_GAVE_UP =
  /^(Command timed out|Socket timeout|Connection is closed|Stream isn't writeable|Reached the max retries)/
/** Error codes of Redis itself (redis.io, "Redis serialization protocol", errors) that say "not now". */
const SERVER_CANNOT_NOW = /^(READONLY|LOADING|MASTERDOWN|OOM|CLUSTERDOWN|MISCONF|NOREPLICAS|BUSY|TRYAGAIN) /

const LOST: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
])
/** However these fail, no connection came of it: a name that is not resolved, a machine that can open nothing more. */
const REACHING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** True when Redis did not answer, as opposed to answering that we asked for nonsense. */
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
