import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
/** The rules of .dockerignore, in order. A rule includes files if its line begins with `!`, and otherwise excludes them. */
const rules = readFileSync(path.join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ includes: line.startsWith('!'), pattern: line.replace(/^!/, '') }))

/** Applies .dockerignore as Docker does: the last rule that matches the file, or a folder above it, decides. */
const isIncluded = (file: string) => rules.findLast(({ pattern }) => matches(file, pattern))?.includes ?? true
const matches = (file: string, pattern: string) =>
  pattern === '*' || path.matchesGlob(file, pattern) || path.matchesGlob(file, `${pattern}/**`)

/** The files of the repository, without untracked ones. */
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)

test('the build context has the lock file, the bundler, and the sources and data of the apps', () => {
  const included = files.filter(isIncluded)
  for (const neededPath of [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'scripts/bootstrap/pnpm/package-lock.json',
    'infra/bundle/package.json',
    'infra/bundle/src/main.ts',
    'apps/auth/src/main.ts',
    'apps/auth/migrations/0001-agents.sql',
    'apps/resource/src/main.ts',
    'packages/guides/content/',
    'packages/pages/src/styles/base.css',
    'packages/metadata/openapi.json',
    'packages/metadata/src/documents/auth.template.md',
  ])
    expect(
      included.some((file) => file.startsWith(neededPath)),
      neededPath,
    ).toBe(true)
})

test('the build context has every template', () => {
  const templates = files.filter((file) => file.includes('.template.'))
  expect(templates.length).toBeGreaterThan(0)
  expect(templates.filter((file) => !isIncluded(file))).toEqual([])
})

test('the build context has no tests, documents or local files', () => {
  const included = files.filter(isIncluded)
  const unwanted =
    /\.(test|contract|fixture)\.ts$|\/(test|testing)\/|^(e2e|docs|infra(?!\/bundle\/)|scripts(?!\/bootstrap\/pnpm\/)|apps\/local|\.git)|^\.|README/
  expect(included.filter((file) => unwanted.test(file))).toEqual([])
  for (const excludedFile of [
    '.data/auth-kek',
    'node_modules/pg/index.js',
    'apps/auth/node_modules/koa/index.js',
    '.env',
  ])
    expect(isIncluded(excludedFile), excludedFile).toBe(false)
})
