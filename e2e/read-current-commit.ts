import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Returns the abbreviated hash of the current commit. Appends ` and changes` if tracked files differ from it. */
export async function readCurrentCommit(): Promise<string> {
  const git = async (...args: string[]) => (await promisify(execFile)('git', args)).stdout.trim()
  const changes = await git('status', '--porcelain', '--untracked-files=no')
  return `${await git('rev-parse', '--short=12', 'HEAD')}${changes ? ' and changes' : ''}`
}
