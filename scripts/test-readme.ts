import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createShellEnvironment, readBlock } from './readme.ts'

const LIMIT_MS = 30 * 60_000

/** Runs the test command of README.md on the servers that TEST_POSTGRES_URL and TEST_REDIS_URL name. Returns its exit code. */
async function runReadmeTests(root: string): Promise<number> {
  const command = readBlock(readFileSync(path.join(root, 'README.md'), 'utf8'), 'ci:test')
  const { TEST_POSTGRES_URL, TEST_REDIS_URL } = process.env
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd: root,
    env: { ...createShellEnvironment(process.env), TEST_POSTGRES_URL, TEST_REDIS_URL },
    stdio: 'inherit',
    timeout: LIMIT_MS,
  })
  process.on('SIGTERM', () => shell.kill('SIGTERM')).on('SIGINT', () => shell.kill('SIGTERM'))
  await once(shell, 'exit')
  if (shell.signalCode)
    process.stderr.write(`FAILED: ended by ${shell.signalCode}; it may take ${LIMIT_MS / 60_000} minutes\n`)
  return shell.exitCode ?? 1
}

process.exitCode = await runReadmeTests(path.resolve(import.meta.dirname, '..'))
