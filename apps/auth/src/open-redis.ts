import { once } from 'node:events'
import { type LimitRedisClient, type Log, runCachedScript, startTimeout } from '@plainpath/http'
import { traceCall } from '@plainpath/tracing'
import { Redis } from 'ioredis'

/**
 * Opens a connection to Redis that fails fast: a command times out after `timeoutMs`, connecting times out after 1 s, and no
 * command is queued while Redis is unavailable. If commands are pending and Redis sends nothing for five times `timeoutMs`,
 * ioredis replaces the connection, so that pending commands cannot accumulate on it. That timer of ioredis does not read first,
 * so it is long enough for most pauses of the process. An idle connection remains open.
 *
 * @throws {Error} if the first attempt to connect fails, if Redis is not ready within 5 s, or if its `maxmemory-policy` is not
 *   `noeviction`. Under any other policy, Redis could evict a token or a rate-limit counter without an error.
 */
export async function openRedis(url: string, log: Log, timeoutMs = 200): Promise<Redis & AsyncDisposable> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    connectTimeout: 1_000,
    socketTimeout: 5 * timeoutMs,
    maxRetriesPerRequest: 0,
    // Waits 100 ms before the first attempt to reconnect, then twice as long each time, up to 1 s.
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
  })
  boundReplyTime(redis, timeoutMs)
  let isOutageReported = false
  redis.on('error', (error: Error) => {
    if (!isOutageReported) log.error('Redis is unavailable', { error })
    isOutageReported = true
  })
  redis.on('ready', () => {
    if (isOutageReported) log.info('Redis is available again')
    isOutageReported = false
  })
  const close = async () => redis.disconnect()
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(5_000) })
    const memory = await redis.info('memory')
    const policy = /^maxmemory_policy:(?<policy>\S+)/m.exec(memory)?.groups?.['policy']
    if (policy !== 'noeviction')
      throw new Error(
        `Redis must run with maxmemory-policy noeviction; ${policy ? `it runs with ${policy}` : 'it does not report its policy'}`,
      )
  } catch (error) {
    await close()
    throw error
  }
  return Object.assign(redis, { [Symbol.asyncDispose]: close })
}

/**
 * Makes each command fail after `timeoutMs`, but reads the replies that have already arrived first. The `commandTimeout` of
 * ioredis does not: after a pause of the process, it rejects commands to which Redis has replied. Pipelines and the handshake
 * call `sendCommand` too, and the time begins there.
 */
function boundReplyTime(redis: Redis, timeoutMs: number): void {
  const sendCommand = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    const timeout = startTimeout(timeoutMs, () => command.reject(new Error('Redis did not reply in time')))
    const stop = () => timeout[Symbol.dispose]()
    command.promise.then(stop, stop)
    return sendCommand(command, stream)
  }
}

/** Matches the messages of errors without a code: that of `boundReplyTime`, and those of ioredis. */
const CLIENT_ERROR =
  /^(Redis did not reply in time|Socket timeout|Connection is closed|Stream isn't writeable|Reached the max retries|Command aborted)/
/** Matches the prefixes of Redis errors (redis.io, "Redis serialization protocol") that mean that Redis is unavailable. */
const UNAVAILABLE_REPLY = /^(READONLY|LOADING|MASTERDOWN|OOM|CLUSTERDOWN|MISCONF|NOREPLICAS|BUSY|TRYAGAIN) /

const CONNECTION_ERRORS: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
])
/** The system calls that open a connection. Any failure of these, such as an unresolved host name, means no connection. */
const CONNECTING_CALLS: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])

/** Returns whether the error means that Redis was unavailable. An invalid command, for example, is another error. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  return (
    CLIENT_ERROR.test(error.message) ||
    UNAVAILABLE_REPLY.test(error.message) ||
    CONNECTION_ERRORS.has(code) ||
    CONNECTING_CALLS.has(syscall)
  )
}

/** Runs a Lua script by its SHA-1 digest. Sends the script itself only if Redis has not cached it. */
export const runScript = (
  redis: Redis,
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> =>
  runCachedScript<unknown>(
    script,
    (digest) => redis.evalsha(digest, keys.length, ...keys, ...args),
    () => redis.eval(script, keys.length, ...keys, ...args),
  )

/** Returns the client with which `@plainpath/http` counts limits. */
export const toLimitClient = (redis: Redis): LimitRedisClient => ({
  eval: (script, keys, args) => runScript(redis, script, keys, args),
  get: (key) => redis.get(key),
  setIfAbsent: (key, value, seconds) => redis.set(key, value, 'EX', seconds, 'NX'),
})

/** The commands that stores and limits send. Other commands are not traced. */
const TRACED_COMMANDS = ['eval', 'evalsha', 'get', 'set', 'del', 'publish', 'mget', 'scan', 'ping'] as const

type SendCommand = (...args: unknown[]) => Promise<unknown>

/**
 * Wraps the command methods of `redis`. While a request is traced, each of its calls records a child span, which contains the
 * command name but no key or value. The methods are wrapped instead of the socket, because one pipeline on the socket carries the
 * commands of several requests.
 */
export function traceRedis(redis: Redis): void {
  for (const name of TRACED_COMMANDS) {
    const sendCommand = (redis[name] as SendCommand).bind(redis)
    const span = { name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }
    Object.assign(redis, {
      [name]: (...args: unknown[]) =>
        traceCall(
          () => span,
          () => sendCommand(...args),
        ),
    })
  }
}
