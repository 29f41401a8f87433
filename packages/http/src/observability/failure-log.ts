import { LRUCache } from 'lru-cache'
import type { Log } from './log.ts'

/** Repetitions within this time are logged as one line. */
const GROUPING_MS = 10_000
const MAX_KINDS = 100

interface Failure {
  readonly request_id: string
  readonly code: string
  /** The error, which the log formats with `describeError`. */
  readonly error: unknown
}

export type LogFailure = (title: string, failure: Failure) => void

/**
 * Creates a function that logs a failure immediately. It logs repetitions within the next ten seconds as one line with
 * their number, so that an unavailable store does not fill the log. A repetition has the same title and code, and its
 * errors and causes have the same names and messages.
 */
export function createFailureLogger(log: Pick<Log, 'error'>): LogFailure {
  const repetitions = new LRUCache<string, { count: number; end(): void }>({
    max: MAX_KINDS,
    dispose: (repetition) => repetition.end(),
  })
  return (title, failure) => {
    const key = [title, failure.code, ...listErrorTexts(failure.error)].join('\n')
    const repetition = repetitions.get(key)
    if (repetition) {
      repetition.count += 1
      return
    }
    log.error(title, { ...failure })
    const timer = setTimeout(() => repetitions.delete(key), GROUPING_MS).unref()
    repetitions.set(key, {
      count: 0,
      end() {
        clearTimeout(timer)
        if (this.count > 0)
          log.error(title, { code: failure.code, error: failure.error, repeated: this.count })
      },
    })
  }
}

/** Deeper causes are not compared, so a circular chain ends. */
const MAX_CAUSES = 4

function listErrorTexts(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return [typeof error]
  return [error.name, error.message, ...listErrorTexts(error.cause, depth + 1)]
}
