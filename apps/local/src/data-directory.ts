import { randomBytes } from 'node:crypto'
import { access, constants, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { LocalError } from './local-settings.ts'

/** Where `npm start` keeps what must outlive it. Its files are the user's own (mode 0600). */
export interface DataDirectory {
  path(...names: string[]): string
  /** The path of a file that is made once, with what `make` gives, whoever of several processes comes first. */
  fileOnce(name: string, make: () => string): Promise<{ path: string; content: string; made: boolean }>
}

/** @throws {LocalError} when the directory cannot be made or written */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  try {
    // As root the database server runs as another user, who must reach its folder below this one.
    await mkdir(directory, { recursive: true, mode: process.getuid?.() === 0 ? 0o755 : 0o700 })
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new LocalError(
      `The data directory ${directory} cannot be used (${code ?? 'unknown reason'}). Set DATA_DIR to another one.`,
    )
  }
  return {
    path: (...names) => path.join(directory, ...names),
    async fileOnce(name, make) {
      const file = path.join(directory, name)
      const made = await writeOnce(file, make)
      return { path: file, content: await readFile(file, 'utf8'), made }
    },
  }
}

/** Writes beside the file and links it into place, so that nobody ever reads half of it. @returns false if it existed */
async function writeOnce(file: string, make: () => string): Promise<boolean> {
  if (
    await access(file).then(
      () => true,
      () => false,
    )
  )
    return false
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
