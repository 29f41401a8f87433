import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** The name of the app settings file in a stack's folder. */
export const STACK_ENV_FILE_NAME = 'stack.env'

/**
 * Formats settings for `node --env-file`, which takes single-quoted text literally.
 *
 * @throws {Error} if a value contains a single quote or a line break; the message names the setting, not the value
 */
export function formatEnv(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => {
      if (/['\n]/.test(value))
        throw new Error(`the value of ${name} cannot be written to ${STACK_ENV_FILE_NAME}`)
      return `${name}='${value}'\n`
    })
    .join('')
}

/**
 * Writes the app settings, which contain store passwords, to a file that only the current user may read.
 *
 * @returns the path of the file
 */
export async function writeStackEnv(folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  const file = path.join(folder, STACK_ENV_FILE_NAME)
  // `rename` replaces the file at once, so that no program reads a part of it.
  const temporaryFile = `${file}.${process.pid}`
  await writeFile(temporaryFile, formatEnv(env), { mode: 0o600, flag: 'w' })
  await rename(temporaryFile, file)
  return file
}
