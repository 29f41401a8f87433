import { once } from 'node:events'
import type { Log } from '@plainpath/http'
import { Redis } from 'ioredis'

/**
 * A connection to Redis on which nothing waits: 0.2 s for an answer, 1 s to connect, no queue while it is away.
 *
 * @throws when it cannot be reached in 5 s, or when it may evict keys: an evicted token or limit would be
 *   forgotten silently, so only `noeviction` is accepted
 */
export async function openRedis(url: string, log: Log): Promise<Redis & AsyncDisposable> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    connectTimeout: 1_000,
    commandTimeout: 200,
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

/** True when Redis did not answer, as opposed to answering that we asked for nonsense. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  return (
    /^(Command timed out|Connection is closed\.?|Stream isn't writeable|Reached the max retries|READONLY|LOADING|MASTERDOWN|OOM|CLUSTERDOWN)/.test(
      error.message,
    ) ||
    error.name === 'MaxRetriesPerRequestError' ||
    ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENOTFOUND'].includes(code ?? '')
  )
}
