import { randomBytes } from 'node:crypto'
import { access, constants, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { LocalError } from './local-settings.ts'

/** The name of the advisory lock that `npm start` or a stack (`infra/stack`) holds while it serves a data directory. */
export const DATA_DIRECTORY_LOCK = 'plainpath npm start'

/** The directory in which `npm start` stores its data. */
export interface DataDirectory {
  path(...names: string[]): string
  /**
   * Creates a file with the result of `createContent` unless it exists, and reads it. Only the user may read the file (mode
   * 0600). If several processes call this simultaneously, one creates the file and all read the same content.
   */
  createFileOnce(
    name: string,
    createContent: () => string,
  ): Promise<{ path: string; content: string; isNew: boolean }>
}

/**
 * Opens the data directory, and creates it if it is missing.
 *
 * @throws {LocalError} if the directory cannot be created, read or written
 */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  try {
    // If this process is root, the database server runs as another user, which must be able to enter its folder inside this one.
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
    async createFileOnce(name, createContent) {
      const file = path.join(directory, name)
      try {
        const isNew = await writeOnce(file, createContent)
        return { path: file, content: await readFile(file, 'utf8'), isNew }
      } catch (error) {
        // An error of the file system has both members. Any other error is rethrown as it is.
        const { code, syscall } = error as NodeJS.ErrnoException
        if (code === undefined || syscall === undefined) throw error
        throw new LocalError(
          `The file ${file} cannot be used (${code}). Make the user who runs this program the owner of the file, and of everything else in ${directory}.`,
        )
      }
    },
  }
}

/**
 * Writes a temporary file and links it into place, so that no process reads an incomplete file.
 *
 * @returns false if the file exists already
 */
async function writeOnce(file: string, createContent: () => string): Promise<boolean> {
  if (await exists(file)) return false
  const temporaryFile = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(temporaryFile, createContent(), { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(temporaryFile, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(temporaryFile, { force: true })
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )
