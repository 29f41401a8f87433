import { runCachedScript } from '@plainpath/http'
import type { Redis } from 'ioredis'

/** Runs a Lua script with `ioredis` by its SHA-1 digest. Sends the script itself only if Redis has not cached it. */
export const runIoredisScript = (
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
