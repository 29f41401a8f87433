import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'

const REPORTER = path.join(import.meta.dirname, 'run-summary-reporter.ts')
const VITEST = path.join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')

/** Runs Vitest with the reporter on the given test files. */
async function runVitest(
  files: Record<string, string>,
): Promise<{ lines: string[]; exitCode: number | null }> {
  const root = await mkdtemp(path.join(tmpdir(), 'plainpath-reporter-'))
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(root, name), text)
  const args = [VITEST, 'run', '--globals', '--root', root, '--reporter', 'default', '--reporter', REPORTER]
  const { promise, resolve } = Promise.withResolvers<{ lines: string[]; exitCode: number | null }>()
  const child = execFile(process.execPath, args, { timeout: 50_000 }, (_error, stdout) =>
    resolve({ lines: stdout.split('\n'), exitCode: child.exitCode }),
  )
  const result = await promise
  await rm(root, { recursive: true })
  return result
}

test('a run that passes ends with its counts, after its servers', async () => {
  const { lines, exitCode } = await runVitest({ 'a.test.js': `test('one', () => {}); test('two', () => {})` })
  expect(exitCode).toBe(0)
  expect(lines.slice(-2)).toEqual(['2 passed, 0 failed', ''])
  expect(lines).toContainEqual(expect.stringMatching(/: 2 passed, 0 failed, on no server$/))
})

test('tests, files and hooks that fail are counted', async () => {
  const { lines, exitCode } = await runVitest({
    'tests.test.js': `test('one', () => {}); test('two', () => { throw new Error('no') })`,
    'file.test.js': `import './missing.js'`,
    'hook.test.js': `describe('suite', () => { beforeAll(() => { throw new Error('no') }); test('never runs', () => {}) })`,
  })
  expect(exitCode).toBe(1)
  expect(lines.slice(-2)).toEqual(['1 passed, 3 failed', ''])
})

test('a run that fails outside its tests counts one failure', async () => {
  const { lines, exitCode } = await runVitest({
    'a.test.js': `test('one', () => {})`,
    'vitest.config.js': `export default { test: { globalSetup: './setup.js' } }`,
    'setup.js': `export default () => { throw new Error('no server') }`,
  })
  expect(exitCode).toBe(1)
  expect(lines.slice(-2)).toEqual(['0 passed, 1 failed', ''])
})
