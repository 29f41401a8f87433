import type { EventEmitter } from 'node:events'
import { type LimitRedisClient, type Log, runCachedScript, startTimeout } from '@plainpath/http'
import { traceCall } from '@plainpath/tracing'
import { createClient } from 'redis'

const REPLY_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000
const PING_MS = 500
/** After more intervals than this without a reply to a ping, the connection is closed and opened again. */
const MAX_SILENT_INTERVALS = 3
/** The pause before the next connection attempt doubles each time, between these bounds. */
const MIN_RETRY_MS = 50
const MAX_RETRY_MS = 1_000

/**
 * The Redis commands for limits and used proofs. Every key begins with `resource:`, because the app's Redis user can access no
 * other keys, except the revocation state.
 */
export interface Redis extends LimitRedisClient, AsyncDisposable {
  /** Calls the listener when the connection becomes usable: once at the start, and after each outage. */
  onReady(listener: () => void): void
}

/**
 * Returns immediately, and connects to Redis in the background. Without a connection, calls fail immediately. A call without a
 * reply fails after 0.2 s.
 */
export function openRedis(url: string, { log }: { log: Log }): Redis {
  const redis = createClient({
    url,
    RESP: 3,
    name: 'plainpath-resource',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    // Turns off the time-out of the client, because its timer for each command stays in memory for 5 s. Instead,
    // `withReplyTimeout` bounds each call, and `watchSilence` closes a silent connection.
    commandOptions: { timeout: 0 },
    pingInterval: PING_MS,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: MAX_SILENT_INTERVALS * PING_MS,
      reconnectStrategy: (retryCount) => Math.min(MIN_RETRY_MS * 2 ** retryCount, MAX_RETRY_MS),
    },
  })
  reportOutages(redis, log)
  const connect = () =>
    redis.connect().catch((error: unknown) => log.warn('cannot connect to Redis', { error }))
  let connectAttempt = connect()
  const silenceTimer = watchSilence(redis, () => {
    redis.destroy()
    connectAttempt = connect()
  })
  return {
    eval: (script, keys, args) =>
      send('eval', () =>
        runCachedScript<unknown>(
          script,
          (name) => redis.evalSha(name, { keys, arguments: args }),
          () => redis.eval(script, { keys, arguments: args }),
        ),
      ),
    get: (key) => send('get', () => redis.get(key)),
    setIfAbsent: (key, value, seconds) =>
      send('set', () =>
        redis.set(key, value, { condition: 'NX', expiration: { type: 'EX', value: seconds } }),
      ),
    onReady: (listener) => void redis.on('ready', listener),
    async [Symbol.asyncDispose]() {
      clearInterval(silenceTimer)
      redis.destroy()
      await connectAttempt
    },
  }
}

/** Sends a command, which fails without a reply within 0.2 s, and describes it in traces without keys and values. */
const send = <T>(name: string, call: () => Promise<T>): Promise<T> =>
  traceCall(
    () => ({ name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }),
    () => withReplyTimeout(call()),
  )

/**
 * Rejects if a call takes longer than 0.2 s. Otherwise, a call to a silent server would not settle before the connection is
 * closed. A timeout of the client would not help, because it covers only the sending of a command.
 */
async function withReplyTimeout<T>(call: Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  using _timeout = startTimeout(REPLY_TIMEOUT_MS, () => reject(new Error('Redis did not reply in time')))
  return await Promise.race([call, timeout])
}

/**
 * Calls `reconnect` when the pings on an open connection get no replies. Node's socket timeout does not detect this while
 * commands are sent, because sending restarts it. Counts intervals instead of time, so that a process that was suspended keeps
 * its connection.
 */
function watchSilence(
  redis: EventEmitter & { readonly isReady: boolean },
  reconnect: () => void,
): NodeJS.Timeout {
  let silentIntervalCount = 0
  const recordPing = () => {
    silentIntervalCount = 0
  }
  redis.on('ping-interval', recordPing)
  redis.on('ready', recordPing)
  return setInterval(() => {
    silentIntervalCount = redis.isReady ? silentIntervalCount + 1 : 0
    if (silentIntervalCount <= MAX_SILENT_INTERVALS) return
    silentIntervalCount = 0
    reconnect()
  }, PING_MS).unref()
}

/** Logs one line when Redis becomes unavailable, and one when it is available again, but none for each retry. */
function reportOutages(redis: EventEmitter, log: Log): void {
  let isUnavailable = false
  redis.on('error', (error: Error) => {
    if (!isUnavailable) log.warn('Redis is unavailable', { error })
    isUnavailable = true
  })
  redis.on('ready', () => {
    if (isUnavailable) log.info('Redis is available again')
    isUnavailable = false
  })
}
