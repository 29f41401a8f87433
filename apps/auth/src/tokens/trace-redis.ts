import { traced } from '@plainpath/tracing'
import type { Redis } from 'ioredis'

/** The commands that the stores and limits send. Other commands get no span. */
const TRACED = ['eval', 'get', 'set', 'del', 'publish', 'mget', 'scan', 'ping'] as const

type Send = (...args: unknown[]) => Promise<unknown>

/**
 * Adds a span for each command under the request that sends it, with the command's name but no key and no value. It
 * wraps the methods rather than the socket, where one pipeline carries the commands of several requests.
 */
export function traceRedis(redis: Redis): void {
  for (const name of TRACED) {
    const send = (redis[name] as Send).bind(redis)
    const call = { name, attributes: { 'db.system.name': 'redis', 'db.operation.name': name.toUpperCase() } }
    Object.assign(redis, {
      [name]: (...args: unknown[]) =>
        traced(
          () => call,
          () => send(...args),
        ),
    })
  }
}
