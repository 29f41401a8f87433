import { describeError, type Log, type LogFields } from '@plainpath/http'

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
  return { info: at('info'), warn: at('warn'), error: at('error'), everyRead: true }
}
