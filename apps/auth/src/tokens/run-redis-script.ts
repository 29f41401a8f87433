import { runScript } from '@plainpath/http'
import type { Redis } from 'ioredis'

export const runRedisScript = (
  redis: Redis,
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> =>
  runScript<unknown>(
    script,
    (name) => redis.evalsha(name, keys.length, ...keys, ...args),
    () => redis.eval(script, keys.length, ...keys, ...args),
  )
