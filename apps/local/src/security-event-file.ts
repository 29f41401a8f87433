import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { createLog } from '@plainpath/http'
import { LocalError } from './local-settings.ts'

/**
 * Opens the file in which `npm start` keeps its security events as lines of JSON, because a restore reads them
 * (docs/runbooks/restore-from-backup.md). Only the user may read the file (mode 0600). Appends a line about the start, so the
 * file shows since when it has the events.
 *
 * @param print prints a line that could not be written to the file
 * @returns a function that appends one line
 * @throws {LocalError} if the file cannot be written
 */
export function openSecurityEventFile(
  directory: string,
  print: (line: string) => void,
): (line: string) => void {
  const file = path.join(directory, 'security-events.log')
  const append = (text: string) => appendFileSync(file, text, { mode: 0o600 })
  try {
    createLog({ service: 'local', write: append }).info('npm start began')
  } catch (error) {
    throw new LocalError(
      `The file ${file} cannot be written (${(error as NodeJS.ErrnoException).code}). Make the user who runs this program its owner.`,
    )
  }
  let mayEndInLine = false
  return (line) => {
    try {
      append(mayEndInLine ? `\n${line}` : line)
      mayEndInLine = false
    } catch (error) {
      // A full disk may have taken a part of the line.
      mayEndInLine = true
      print(
        `${file} cannot be written (${(error as NodeJS.ErrnoException).code}). Append this line to it: ${line.trimEnd()}`,
      )
    }
  }
}
