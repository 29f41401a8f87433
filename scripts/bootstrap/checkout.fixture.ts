import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { getPnpmProgram } from './pnpm.mjs'

/** A fake npm, which installs the fake pnpm. It records its arguments. If NPM_ERROR is set, it prints that text and fails. */
const FAKE_NPM = `#!/bin/sh
echo "npm $*" >> "$CALLS"
test -z "$NPM_ERROR" || { echo "$NPM_ERROR" >&2; exit 1; }
mkdir -p "$(dirname "$PNPM")"
cp "$FAKE_PNPM" "$PNPM"
`
/**
 * A fake pnpm, which only creates the folders of an installation. It records its arguments. If PNPM_ERROR is set, it prints that
 * text and fails.
 */
const FAKE_PNPM = `#!/bin/sh
echo "pnpm $*" >> "$CALLS"
test -z "$PNPM_ERROR" || { echo "$PNPM_ERROR" >&2; exit 1; }
mkdir -p node_modules/.bin packages/one/node_modules
ln -sf "$REAL_NODE" node_modules/.bin/node
`

/** A small checkout in which the bootstrap runs with a fake npm and a fake pnpm. */
export interface Checkout extends Disposable {
  readonly root: string
  write(file: string, content: string): void
  read(file: string): string
  /** Reads the recorded calls of npm and pnpm, with their arguments. */
  readCalls(): string[]
  /** Starts the bootstrap with these arguments. Variables in `env` are added to the usual ones or replace them. */
  start(args: readonly string[], env?: Record<string, string>): StartedProcess
}

interface StartedProcess {
  readonly process: ChildProcess
  /** Resolves when the process has ended. `code` is null if a signal ended it, and `signal` is null otherwise. */
  readonly result: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>
}

/** Creates a small checkout with the real bootstrap, in a folder whose name has a space, since paths must be quoted correctly. */
export function createCheckout(): Checkout {
  const root = mkdtempSync(path.join(os.tmpdir(), 'a checkout-'))
  const write = (file: string, content: string) => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    // Every file is executable, because some of them are the fake programs.
    writeFileSync(path.join(root, file), content, { mode: 0o755 })
  }
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
  write('package.json', JSON.stringify({ type: 'module', packageManager: 'pnpm@1.2.3' }))
  write('pnpm-workspace.yaml', "packages:\n  - 'packages/*'\n  - e2e\n\nnodeVersion: 24.0.0\n")
  write('pnpm-lock.yaml', '')
  write('packages/one/package.json', JSON.stringify({ dependencies: { two: '1.0.0' } }))
  write('fake/npm', FAKE_NPM)
  write('fake/pnpm', FAKE_PNPM)
  write('calls', '')
  cpSync(import.meta.dirname, path.join(root, 'scripts/bootstrap'), {
    recursive: true,
    filter: (source) => !source.includes('node_modules'),
  })
  cpSync(path.join(import.meta.dirname, '../bootstrap.mjs'), path.join(root, 'scripts/bootstrap.mjs'))
  return {
    root,
    write,
    read,
    readCalls: () => read('calls').split('\n').filter(Boolean),
    start: (args, env) =>
      startNode([path.join(root, 'scripts/bootstrap.mjs'), ...args], { ...createEnvironment(root), ...env }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true }),
  }
}

const createEnvironment = (root: string) => ({
  PATH: [path.join(root, 'fake'), process.env['PATH']].join(path.delimiter),
  CALLS: path.join(root, 'calls'),
  PNPM: getPnpmProgram(root),
  FAKE_PNPM: path.join(root, 'fake/pnpm'),
  REAL_NODE: process.execPath,
})

/** Starts Node outside the checkout, since the bootstrap must not depend on its working directory. */
function startNode(args: readonly string[], env: Record<string, string>): StartedProcess {
  const child = spawn(process.execPath, args, { cwd: os.tmpdir(), env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const result = new Promise<Awaited<StartedProcess['result']>>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return { process: child, result }
}
