import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The existing files that the checks read: tracked and untracked ones, but none that git ignores. */
export interface Repository {
  /** Relative to the root, sorted. */
  readonly files: readonly string[]
  read(file: string): string
}

/**
 * Lists the files of a checkout.
 *
 * @throws {Error} outside of a git checkout
 */
export function openRepository(root: string): Repository {
  const listing = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const existingFiles = new Set(
    listing.split('\0').filter((file) => file && existsSync(path.join(root, file))),
  )
  return {
    files: [...existingFiles].sort(),
    read: (file) => readFileSync(path.join(root, file), 'utf8'),
  }
}
