import { describeError, type Log, type LogFields } from '@plainpath/http'
import { isLoopback, serviceUrls } from '@plainpath/metadata'
import type { LocalSettings } from './local-settings.ts'

/** Does a part of the work, and tells a person what came of it. */
export type Step = <T>(name: string, work: () => Promise<T>, outcome?: (result: T) => string) => Promise<T>

/** Prints how long each step took. */
export const printedSteps =
  (print: (line: string) => void): Step =>
  async (name, work, outcome) => {
    const startedAt = performance.now()
    const result = await work()
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    print(`  ${name.padEnd(22)} ${`${seconds} s`.padStart(6)}   ${outcome?.(result) ?? 'ready'}`)
    return result
  }

/** For command lines, which print nothing but their answer. */
export const silentStep: Step = (_name, work) => work()

/** The log of `npm start`: a short line for each request, for the person who watches it. */
export function plainLog(service: string, print: (line: string) => void): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const time = new Date().toTimeString().slice(0, 8)
      if (message === 'request') {
        const { method, route, status, ms } = fields
        return print(
          `${time} ${String(method).padEnd(6)} ${String(status)} ${String(ms).padStart(6)} ms  ${String(route)}`,
        )
      }
      const shown = Object.entries(fields).map(
        ([name, value]) => `${name}=${JSON.stringify(name === 'error' ? describeError(value) : value)}`,
      )
      print(`${time} ${level} ${service}: ${message} ${shown.join(' ')}`.trimEnd())
    }
  return { info: at('info'), warn: at('warn'), error: at('error'), logsEveryRead: true }
}

/** What a person reads once the service is ready: the address, and three commands that work when pasted. */
export function firstWords({ origin, limitsFactor }: LocalSettings): string[] {
  const urls = serviceUrls(origin)
  return [
    '',
    `Plainpath is ready: ${origin}`,
    ...(limitsFactor === 1
      ? []
      : [
          `Rate limits are multiplied by ${limitsFactor}${isLoopback(origin) ? ', since only this machine can reach it' : ''}.`,
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

/** Errors that say in one line what a person can do about them; anything else is a bug and keeps its stack. */
const PLAIN = new Set(['LocalError', 'EmbeddedPostgresError', 'ConfigError'])

/** Runs a program; its exit code, or 1 after one line that says why it cannot go on. */
export async function plainly(program: () => Promise<number>): Promise<number> {
  try {
    return await program()
  } catch (error) {
    if (!(error instanceof Error) || !PLAIN.has(error.name)) throw error
    console.error(error.message)
    return 1
  }
}
