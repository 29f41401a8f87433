import { createLog, describeError, type Log, type LogFields } from '@plainpath/http'
import { createServiceUrls, isLoopbackOrigin } from '@plainpath/metadata'
import type { LocalSettings } from './local-settings.ts'

/** Runs one step of a start and returns its result. May print the step, with the result as `describeResult` words it. */
export type RunStep = <T>(
  name: string,
  work: () => Promise<T>,
  describeResult?: (result: T) => string,
) => Promise<T>

/** Creates a function that runs steps and prints each step with its duration and result. */
export const createStepPrinter =
  (print: (line: string) => void): RunStep =>
  async (name, work, describeResult) => {
    const startedAt = performance.now()
    const result = await work()
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    print(`  ${name.padEnd(22)} ${`${seconds} s`.padStart(6)}   ${describeResult?.(result) ?? 'ready'}`)
    return result
  }

/** Runs a step and prints nothing. Commands use it, because they print only their own output. */
export const runSilently: RunStep = (_name, work) => work()

/**
 * Creates the log of `npm start`: short lines for people instead of JSON.
 *
 * @param appendSecurityEvent receives each security event once more, as a line of JSON
 */
export function createPlainLog(
  service: string,
  print: (line: string) => void,
  appendSecurityEvent: (line: string) => void,
): Log {
  const securityLog = createLog({ service, write: appendSecurityEvent })
  const createLogFunction =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) => {
      if (message === 'security event') securityLog[level](message, fields)
      const time = new Date().toTimeString().slice(0, 8)
      // A line of the access log.
      if (message === 'request') {
        const { method, route, status, ms } = fields
        return print(
          `${time} ${String(method).padEnd(6)} ${String(status)} ${String(ms).padStart(6)} ms  ${String(route)}`,
        )
      }
      const formattedFields = Object.entries(fields).map(
        ([name, value]) => `${name}=${JSON.stringify(name === 'error' ? describeError(value) : value)}`,
      )
      print(`${time} ${level} ${service}: ${message} ${formattedFields.join(' ')}`.trimEnd())
    }
  return {
    info: createLogFunction('info'),
    warn: createLogFunction('warn'),
    error: createLogFunction('error'),
    // Otherwise, only one in a hundred of the fast, successful reads would be logged.
    logsEveryRead: true,
  }
}

/** Formats the lines that `npm start` prints when the service is ready: the addresses, and three commands to try. */
export function formatWelcome({ origin, publicMcp, limitsFactor }: LocalSettings): string[] {
  const urls = createServiceUrls(origin, publicMcp?.origin)
  return [
    '',
    `Plainpath is ready: ${origin}`,
    `MCP in a chat app, after sign-in: ${urls.signedInMcp}`,
    ...(urls.publicMcp === undefined ? [] : [`MCP in a chat app, without sign-in: ${urls.publicMcp}`]),
    ...(limitsFactor === 1
      ? []
      : [
          `Rate limits are multiplied by ${limitsFactor}${isLoopbackOrigin(origin) ? ', since only this machine can reach it' : ''}.`,
        ]),
    '',
    'Try these in another terminal:',
    `  curl ${urls.base}/guides`,
    `  curl -X POST ${urls.register}`,
    `  curl -X POST ${urls.base}/waitlist -H 'Content-Type: application/json' -d '{"email":"ana@example.org"}'`,
    '',
    'Ctrl-C stops it. The data stays.',
    '',
  ]
}

/** The names of errors whose message says what to do. Any other error is unexpected, and Node prints it with its stack. */
const ONE_LINE_ERRORS = new Set(['LocalError', 'EmbeddedPostgresError', 'ConfigError'])

/**
 * Runs a program and returns its exit code. For an error of `ONE_LINE_ERRORS`, prints its message and returns 1. Rethrows any
 * other.
 */
export async function runProgram(program: () => Promise<number>): Promise<number> {
  try {
    return await program()
  } catch (error) {
    if (!(error instanceof Error) || !ONE_LINE_ERRORS.has(error.name)) throw error
    console.error(error.message)
    return 1
  }
}
