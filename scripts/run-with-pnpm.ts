import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { getPnpmProgram } from './bootstrap/pnpm.mjs'

const LIMIT_MS = 5 * 60_000

/**
 * Runs a command, such as `pnpm` itself, with the pinned pnpm first on its PATH. A command that runs longer than five minutes is
 * ended, and counts as failed.
 *
 * @returns the output, and the reason for a failure: '' if the command exited with 0
 */
export function runWithPnpm(root: string, command: readonly string[]): { stdout: string; failure: string } {
  const [program = '', ...args] = command
  const PATH = [path.dirname(getPnpmProgram(root)), process.env['PATH']].join(path.delimiter)
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    env: { ...process.env, PATH },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: LIMIT_MS,
  })
  return { stdout, failure: status === 0 ? '' : [error?.message ?? '', stdout, stderr].join('\n') }
}
