import { traceFields } from '@plainpath/tracing'
import pino from 'pino'
import { describeError } from './describe-error.ts'
import { type StandardOutput, standardOutput } from './standard-output.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** One JSON object a line. Fields are names, numbers and our own ids: never an address, a token or a query string. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Somebody watches it: reads are told one by one, and not only those that say something. */
  readonly everyRead?: true
  /** Resolves once all that was said is written, or after a bound; absent where nothing waits to be. */
  flush?(): Promise<void>
}

/**
 * @param write takes one line; standard output when absent, for which no request waits: where nobody reads it, lines are
 *   dropped, and how many is said when somebody does
 */
export function createLog(options: { service: string; level?: string; write?: (line: string) => void }): Log {
  const output: Pick<StandardOutput, 'write'> & Partial<StandardOutput> = options.write
    ? { write: options.write }
    : standardOutput((lines) => logger.warn({ lines }, 'log lines were dropped: nobody read them in time'))
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { service: options.service },
      mixin: traceFields,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    output,
  )
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message)
  const { flush } = output
  return { info: at('info'), warn: at('warn'), error: at('error'), ...(flush && { flush }) }
}
