import { traced } from '@plainpath/tracing'
import type { Redis } from 'ioredis'

/** The commands that stores and limits send. Other commands are not traced. */
const TRACED_COMMANDS = ['eval', 'evalsha', 'get', 'set', 'del', 'publish', 'mget', 'scan', 'ping'] as const

type SendCommand = (...args: unknown[]) => Promise<unknown>

/**
 * Wraps the command methods of `redis` so that each call records a child span of the current request. The span contains the command
 * name, but no key or value. The methods are wrapped instead of the socket, because one pipeline on the socket carries the
 * commands of several requests.
 */
export function traceRedis(redis: Redis): void {
  for (const name of TRACED_COMMANDS) {
    const sendCommand = (redis[name] as SendCommand).bind(redis)
    const span = { name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }
    Object.assign(redis, {
      [name]: (...args: unknown[]) =>
        traced(
          () => span,
          () => sendCommand(...args),
        ),
    })
  }
}
