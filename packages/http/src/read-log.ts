import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'

/**
 * What each line of a log says. What is before the object is passed over, as the names of pods that some readers of logs
 * put there, and so are lines without one.
 *
 * @param file its path, or `-` for standard input
 * @throws {Error} of the file system
 */
export async function* readLog(file: string): AsyncGenerator<object> {
  const lines = file === '-' ? createInterface({ input: process.stdin }) : (await open(file)).readLines()
  for await (const line of lines) {
    const said = objectIn(line)
    if (said) yield said
  }
}

function objectIn(line: string): object | undefined {
  const from = line.indexOf('{')
  if (from < 0) return undefined
  try {
    return JSON.parse(line.slice(from)) as object
  } catch {
    return undefined
  }
}
