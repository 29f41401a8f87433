import type { EventEmitter } from 'node:events'
import { type LimitRedis, type Log, runScript } from '@plainpath/http'
import { traced } from '@plainpath/tracing'
import { createClient } from 'redis'

const ANSWER_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000
const PING_MS = 500
/** A connection on which no ping was answered for so many intervals is dropped and opened again. */
const SILENT_INTERVALS = 3
const LONGEST_RETRY_MS = 1_000

/** The commands of this app. Every key begins with `resource:`, since its Redis user has access to no others. */
export interface Redis extends LimitRedis, AsyncDisposable {
  /** Calls the listener each time a connection can be used, also after Redis was away. */
  onReady(listener: () => void): void
}

/** Opens a connection at once, connected or not: while Redis is away each call fails at once. Callers use `inTime`. */
export function openRedis(url: string, { log }: { log: Log }): Redis {
  const redis = createClient({
    url,
    RESP: 3,
    name: 'plainpath-resource',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    pingInterval: PING_MS,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENT_INTERVALS * PING_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RETRY_MS),
    },
  })
  reportOutages(redis, log)
  const connect = () =>
    redis.connect().catch((error: unknown) => log.warn('there is no connection to Redis', { error }))
  let connected = connect()
  const watch = onSilence(redis, () => {
    redis.destroy()
    connected = connect()
  })
  return {
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
    onReady: (listener) => void redis.on('ready', listener),
    async [Symbol.asyncDispose]() {
      clearInterval(watch)
      redis.destroy()
      await connected
    },
  }
}

/** A command as traces record it: its name, without keys and values. */
const command = (name: string) => {
  const call = { name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }
  return () => call
}
const [EVAL, GET, SET] = [command('eval'), command('get'), command('set')] as const

/**
 * Rejects after 0.2 s. The client's own time-out ends when a command was sent, so a server that fell silent would hold it.
 */
export async function inTime<T>(call: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('Redis did not answer in time')), ANSWER_TIMEOUT_MS)
  return Promise.race([call, late]).finally(() => clearTimeout(timer))
}

/**
 * Calls back when a connection that can be used is silent. Node's time-out of a socket counts what is sent, too: while
 * commands are sent, it never ends a connection on which nothing arrives. Counts intervals and not time, so that a process
 * that stood still does not blame Redis.
 */
function onSilence(redis: EventEmitter & { readonly isReady: boolean }, drop: () => void): NodeJS.Timeout {
  let silent = 0
  const recordPing = () => {
    silent = 0
  }
  redis.on('ping-interval', recordPing)
  redis.on('ready', recordPing)
  return setInterval(() => {
    silent = redis.isReady ? silent + 1 : 0
    if (silent <= SILENT_INTERVALS) return
    silent = 0
    drop()
  }, PING_MS).unref()
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
