/*
 * A Vitest setup file: after a failed test, prints the warnings and errors that the running apps logged since the test began. The
 * log files are removed with the system, and a response with an error does not say which part failed.
 */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openFolders } from './open-folders.ts'

/** The number of lines to print of each log, the last ones. */
const MAX_LINES = 40

/** When the current test began, in the format of the logs (ISO 8601), which sorts as text. */
let startedAt = ''
beforeEach(() => {
  startedAt = new Date().toISOString()
})
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const folder of openFolders)
    for (const name of (await readdir(folder)).filter((each) => /^(?:auth|resource)-\d+\.log$/.test(each))) {
      const lines = (await readFile(path.join(folder, name), 'utf8')).split('\n').filter(isReported)
      if (lines.length === 0) continue
      process.stdout.write(`\nWarnings and errors in ${name} since the failed test began:\n`)
      process.stdout.write(`${lines.slice(-MAX_LINES).join('\n')}\n`)
    }
})

function isReported(line: string): boolean {
  const time = /"time":"(?<time>[^"]+)"/.exec(line)?.groups?.['time'] ?? ''
  return /"level":"(?:warn|error)"/.test(line) && time >= startedAt
}
