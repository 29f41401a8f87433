import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The files of a checkout that git tracks or would add. Ignored files are left out, and so are tracked files that have been deleted. */
export interface Repository {
  /** Relative to the root, sorted. */
  readonly files: readonly string[]
  read(file: string): string
}

/**
 * Opens a checkout. Its list of files is read once.
 *
 * @throws {Error} if `root` is not in a git checkout
 */
export function openRepository(root: string): Repository {
  const listing = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  // During a merge, git lists a file with conflicts several times.
  const existingFiles = new Set(
    listing.split('\0').filter((file) => file && existsSync(path.join(root, file))),
  )
  return {
    files: [...existingFiles].sort(),
    read: (file) => readFileSync(path.join(root, file), 'utf8'),
  }
}
