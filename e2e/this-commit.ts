import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The commit that results belong to, for those who read them; it says so when files were changed since. */
export async function thisCommit(): Promise<string> {
  const git = async (...args: string[]) => (await promisify(execFile)('git', args)).stdout.trim()
  const changed = await git('status', '--porcelain', '--untracked-files=no')
  return `${await git('rev-parse', '--short=12', 'HEAD')}${changed ? ' and changes' : ''}`
}
