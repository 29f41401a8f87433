import pino from 'pino'
import { describeError } from './describe-error.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** One JSON object a line. Fields are names, numbers and our own ids: never an address, a token or a query string. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** @param write takes one line; standard output when absent. */
export function createLog(options: { service: string; level?: string; write?: (line: string) => void }): Log {
  const destination = options.write ? { write: options.write } : pino.destination({ fd: 1, sync: true })
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { service: options.service },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    destination,
  )
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message)
  return { info: at('info'), warn: at('warn'), error: at('error') }
}
