import { createHash } from 'node:crypto'

const NAMES = new Map<string, string>()

/**
 * Runs a script of Redis by its SHA-1, and sends its text only to a server that does not know it yet: a name is shorter to
 * write and to read than a script.
 *
 * @param byName `EVALSHA`
 * @param inFull `EVAL`
 */
export async function runScript<T>(
  script: string,
  byName: (name: string) => Promise<T>,
  inFull: () => Promise<T>,
): Promise<T> {
  const name = NAMES.get(script) ?? createHash('sha1').update(script).digest('hex')
  NAMES.set(script, name)
  try {
    return await byName(name)
  } catch (error) {
    // Nothing was run.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return inFull()
    throw error
  }
}
