import { LRUCache } from 'lru-cache'
import type { Log } from './log.ts'

/** Repetitions within this time are logged as one line. */
const GROUPING_MS = 10_000
/** When there are more groups, the least recently used one is logged early. */
const MAX_GROUPS = 100

interface Failure {
  readonly request_id: string
  readonly code: string
  /** The error, which the log formats with `describeError`. */
  readonly error: unknown
}

export type LogFailure = (title: string, failure: Failure) => void

/**
 * Creates a function that logs a failure immediately. It counts repetitions within the next ten seconds, and then logs
 * their number as one line, so that an unavailable store does not fill the log. A repetition has the same title and code,
 * and its error and causes have the same names and messages. Thrown values that are no `Error` are compared only by type.
 */
export function createFailureLogger(log: Pick<Log, 'error'>): LogFailure {
  const groups = new LRUCache<string, { repeatedCount: number; logSummary(): void }>({
    max: MAX_GROUPS,
    dispose: (group) => group.logSummary(),
  })
  return (title, failure) => {
    const key = [title, failure.code, ...listErrorTexts(failure.error)].join('\n')
    const group = groups.get(key)
    if (group) {
      group.repeatedCount += 1
      return
    }
    log.error(title, { ...failure })
    const timer = setTimeout(() => groups.delete(key), GROUPING_MS).unref()
    groups.set(key, {
      repeatedCount: 0,
      logSummary() {
        clearTimeout(timer)
        if (this.repeatedCount > 0)
          log.error(title, { code: failure.code, error: failure.error, repeated: this.repeatedCount })
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
