import { traced } from '@plainpath/tracing'
import type { Redis } from 'ioredis'

/** What the stores and limits send; a command that is not here has no span. */
const TRACED = ['eval', 'get', 'set', 'del', 'publish', 'mget', 'scan', 'ping'] as const

type Send = (...args: unknown[]) => Promise<unknown>

/**
 * A span for each command, under the request that sends it: its name, no key and no value. Around the methods and not
 * at the socket, where commands of several requests go out in one pipeline.
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
