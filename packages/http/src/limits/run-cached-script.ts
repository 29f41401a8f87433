import { createHash } from 'node:crypto'

const digestsByScript = new Map<string, string>()

/**
 * Runs a Lua script on Redis by its SHA-1 digest. Sends the script itself only to a server that has not cached it.
 *
 * @param runByDigest sends `EVALSHA`
 * @param runInFull sends `EVAL`
 */
export function runCachedScript<T>(
  script: string,
  runByDigest: (digest: string) => Promise<T>,
  runInFull: () => Promise<T>,
): Promise<T> {
  const digest = digestsByScript.get(script) ?? createHash('sha1').update(script).digest('hex')
  digestsByScript.set(script, digest)
  return runByDigest(digest).catch((error: unknown) => {
    // NOSCRIPT: the server has not cached the script and has run nothing.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return runInFull()
    throw error
  })
}
