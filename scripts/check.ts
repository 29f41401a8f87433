import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { checkDependencies } from './check-dependencies.ts'
import { checkDocs } from './check-docs.ts'
import { checkImports } from './check-imports.ts'
import { checkLicences } from './check-licences.ts'
import { checkLockfile } from './check-lockfile.ts'
import { checkMinimumVersions } from './check-minimum-versions.ts'
import { checkCopy, lintOpenapi } from './check-openapi.ts'
import { checkSizes } from './check-sizes.ts'
import { checkStorage } from './check-storage.ts'
import { openRepository } from './repository.ts'

const TURBO_LIMIT_MS = 5 * 60_000
const TURBO_PREFACE = /^ +• /
const root = path.resolve(import.meta.dirname, '..')

/** Looks the whole repository over and says what is wrong in all of it, not only the first thing. */
function check(): boolean {
  const repository = openRepository(root)
  const results = [
    ...['format:check', 'lint', 'typecheck'].map((task) => report(task, () => turbo(task))),
    report('imports', () => checkImports(repository)),
    report('sizes', () => checkSizes(repository)),
    report('docs', () => checkDocs(repository)),
    report('lockfile', () => checkLockfile(repository)),
    report('minimum versions', () => checkMinimumVersions(repository)),
    report('dependencies', () => checkDependencies(repository)),
    report('storage', () => checkStorage(repository)),
    report('licences', () => checkLicences(root)),
    report('openapi', () => [...checkCopy(root), ...lintOpenapi(root)]),
  ]
  return results.every(Boolean)
}

function report(name: string, find: () => string[]): boolean {
  const startedAt = performance.now()
  const breaches = find()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${breaches.length === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  for (const breach of breaches) console.log(`    ${breach}`)
  return breaches.length === 0
}

/** Turbo runs a task through pnpm, so it needs the pinned one on its PATH. @returns what a failing task said */
function turbo(task: string): string[] {
  const { packageManager } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    packageManager: string
  }
  const npx = ['--yes', '--prefer-offline', `--package=${packageManager}`, '--']
  const options = ['--output-logs=errors-only', '--log-prefix=none', '--ui=stream']
  const { status, error, stdout, stderr } = spawnSync('npx', [...npx, 'turbo', 'run', task, ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: TURBO_LIMIT_MS,
  })
  return status === 0
    ? []
    : [error?.message ?? '', stdout, stderr]
        .join('\n')
        .split('\n')
        .filter((line) => line.trim() !== '' && !TURBO_PREFACE.test(line))
}

process.exitCode = check() ? 0 : 1
