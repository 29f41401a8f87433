import { traceCall } from '@plainpath/tracing'
import type { Redis } from 'ioredis'

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
