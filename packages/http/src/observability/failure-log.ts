import { LRUCache } from 'lru-cache'
import type { Log } from './log.ts'

/** Repetitions within this time are logged as one line. */
const GROUPED_MS = 10_000
const MOST_KINDS = 100

interface Failure {
  readonly request_id: string
  readonly code: string
  /** Logged as `describeError` returns it. */
  readonly error: unknown
}

/**
 * Creates a function that logs a failure at once, and its repetitions within the next ten seconds as one line with their
 * number, so that a store that is down does not fill the log. Failures are the same if title, code, and the names and
 * messages of the error and its causes are.
 */
export function failureLog(log: Pick<Log, 'error'>): (title: string, failure: Failure) => void {
  const repeats = new LRUCache<string, { count: number; end(): void }>({
    max: MOST_KINDS,
    dispose: (repeated) => repeated.end(),
  })
  return (title, failure) => {
    const key = [title, failure.code, ...errorTexts(failure.error)].join('\n')
    const earlier = repeats.get(key)
    if (earlier) {
      earlier.count += 1
      return
    }
    log.error(title, { ...failure })
    const timer = setTimeout(() => repeats.delete(key), GROUPED_MS).unref()
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

function errorTexts(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return [typeof error]
  return [error.name, error.message, ...errorTexts(error.cause, depth + 1)]
}
