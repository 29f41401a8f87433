import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { checkDocs } from './check-docs.ts'
import { checkLicences } from './check-licences.ts'
import { openRepository } from './repository.ts'
import { runWithPnpm } from './run-with-pnpm.ts'

/** The checks that are scripts of package.json. turbo caches their results while no file changes. */
const TASKS = ['format:check', 'lint', 'lint:openapi', 'typecheck', 'imports', 'unused']
/** The lines with which turbo introduces a run. */
const TURBO_PREFACE = /^ +• /
const root = path.resolve(import.meta.dirname, '..')

/** Runs all checks, even after one has failed, and prints every mistake. Returns whether all checks passed. */
function runChecks(): boolean {
  const results = [
    ...TASKS.map((task) => runCheck(task, () => runTurbo(task))),
    runCheck('docs', () => checkDocs(openRepository(root))),
    runCheck('licences', () => checkLicences(root)),
  ]
  warnOfDueSources()
  return results.every(Boolean)
}

/** Prints a warning for each guide source that becomes stale within 30 days. The checks still pass, because the code is correct. */
function warnOfDueSources(): void {
  const script = path.join(root, 'packages/guides/src/print-due-sources.ts')
  const dueSources = execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim()
  if (dueSources === '') return
  console.log('WARN   sources of guides (npm run resource -- guides status)')
  for (const line of dueSources.split('\n')) console.log(`    ${line}`)
}

/** Runs a check and prints its result. Returns true if it found no violation. */
function runCheck(name: string, findViolations: () => string[]): boolean {
  const startedAt = performance.now()
  const violations = findViolations()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${violations.length === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  for (const violation of violations) console.log(`    ${violation}`)
  return violations.length === 0
}

/** Runs a task with turbo, which calls pnpm. Returns the output of a failing task. */
function runTurbo(task: string): string[] {
  const options = ['--output-logs=errors-only', '--log-prefix=none', '--ui=stream']
  const { failure } = runWithPnpm(root, ['turbo', 'run', task, ...options])
  return failure.split('\n').filter((line) => line.trim() !== '' && !TURBO_PREFACE.test(line))
}

process.exitCode = runChecks() ? 0 : 1
