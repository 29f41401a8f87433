import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const LIMIT_MS = 5 * 60_000

/**
 * Runs a command with the pinned pnpm on its PATH, or that pnpm itself.
 *
 * @returns what it printed, and what went wrong: '' when it ended with 0
 */
export function runWithPnpm(root: string, command: readonly string[]): { stdout: string; failure: string } {
  const { packageManager } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    packageManager: string
  }
  const npx = ['--yes', '--prefer-offline', `--package=${packageManager}`, '--', ...command]
  const { status, error, stdout, stderr } = spawnSync('npx', npx, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: LIMIT_MS,
  })
  return { stdout, failure: status === 0 ? '' : [error?.message ?? '', stdout, stderr].join('\n') }
}
