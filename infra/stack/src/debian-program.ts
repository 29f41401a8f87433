import { access, constants } from 'node:fs/promises'
import path from 'node:path'

/** The Debian package of each program that the stack and the tests run and that is not an npm package. */
const PACKAGES = {
  caddy: 'caddy',
  chromium: 'chromium',
  gcc: 'gcc',
  pgbouncer: 'pgbouncer',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  'redis-server': 'redis-server',
  slowhttptest: 'slowhttptest',
  spin: 'spin',
} as const
type DebianProgram = keyof typeof PACKAGES

/** The error for programs that are not installed. */
export class MissingPrograms extends Error {
  override readonly name = 'MissingPrograms'
}

/**
 * Finds programs on the search path.
 *
 * @param searchPath folders, separated as in `PATH`
 * @throws {MissingPrograms} naming all missing packages and the command that installs them
 */
export async function findDebianPrograms<const Names extends readonly DebianProgram[]>(
  names: Names,
  searchPath: string,
): Promise<Record<Names[number], string>> {
  const foundPrograms = await Promise.all(
    names.map(async (name) => [name, await findProgram(name, searchPath)] as const),
  )
  const missingPackages = [
    ...new Set(foundPrograms.filter(([, file]) => !file).map(([name]) => PACKAGES[name])),
  ]
  if (missingPackages.length > 0) {
    throw new MissingPrograms(
      `Missing: ${missingPackages.join(', ')}. On Debian: apt-get install ${missingPackages.join(' ')}`,
    )
  }
  return Object.fromEntries(foundPrograms) as Record<Names[number], string>
}

async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(path.delimiter)) {
    const file = path.join(folder, name)
    const isExecutable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    // An empty entry of `PATH` would stand for the working directory.
    if (folder && isExecutable) return file
  }
  return undefined
}
