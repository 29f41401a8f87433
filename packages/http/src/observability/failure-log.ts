import { LRUCache } from 'lru-cache'
import type { Log } from './log.ts'

/** How long failures that are the same wait to be logged together. */
const TOGETHER_MS = 10_000
const MOST_KINDS = 100

interface Failure {
  readonly request_id: string
  readonly code: string
  /** Logged as `describeError` gives it. */
  readonly error: unknown
}

/**
 * Logs a failure at once. Those that follow within ten seconds and are the same, by code, kind and text of the error and
 * its causes, are logged as one line with their number, so that a store that is away does not fill the log.
 *
 * @returns logs a failure under a title
 */
export function failureLog(log: Pick<Log, 'error'>): (title: string, failure: Failure) => void {
  const repeats = new LRUCache<string, { count: number; end(): void }>({
    max: MOST_KINDS,
    dispose: (repeated) => repeated.end(),
  })
  return (title, failure) => {
    const key = [title, failure.code, ...textsOf(failure.error)].join('\n')
    const known = repeats.get(key)
    if (known) {
      known.count += 1
      return
    }
    log.error(title, { ...failure })
    const timer = setTimeout(() => repeats.delete(key), TOGETHER_MS).unref()
    const repeated = {
      count: 0,
      end() {
        clearTimeout(timer)
        if (this.count > 0)
          log.error(title, { code: failure.code, error: failure.error, repeated: this.count })
      },
    }
    repeats.set(key, repeated)
  }
}

const MAX_CAUSES = 4

function textsOf(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return [typeof error]
  return [error.name, error.message, ...textsOf(error.cause, depth + 1)]
}
