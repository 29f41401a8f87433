import { traceFields } from '@plainpath/tracing'
import pino from 'pino'
import { describeError } from './describe-error.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** One JSON object a line. Fields are names, numbers and our own ids: never an address, a token or a query string. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Somebody watches it: reads are told one by one, and not only those that say something. */
  readonly everyRead?: true
}

/** What may wait for whoever reads standard output; what is more is dropped, and counted. */
const MOST_WAITING_BYTES = 1024 * 1024

/**
 * @param write takes one line; standard output when absent, for which no request waits: where nobody reads it, lines are
 *   dropped, and how many is said when somebody does
 */
export function createLog(options: { service: string; level?: string; write?: (line: string) => void }): Log {
  const { write } = options
  const output = write ? undefined : pino.destination({ fd: 1, sync: false, maxLength: MOST_WAITING_BYTES })
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { service: options.service },
      mixin: traceFields,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    output ?? { write: write ?? (() => undefined) },
  )
  let dropped = 0
  output?.on('drop', () => {
    dropped += 1
  })
  output?.on('drain', () => {
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    logger.warn({ lines }, 'log lines were dropped: nobody read them in time')
  })
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message)
  return { info: at('info'), warn: at('warn'), error: at('error') }
}
