import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
const rules = readFileSync(path.join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ includes: line.startsWith('!'), pattern: line.replace(/^!/, '') }))

/** As Docker reads .dockerignore: the last rule that matches the file, or a folder above it, counts. */
const isSent = (file: string) => rules.findLast(({ pattern }) => matches(file, pattern))?.includes ?? true
const matches = (file: string, pattern: string) =>
  pattern === '*' || path.matchesGlob(file, pattern) || path.matchesGlob(file, `${pattern}/**`)

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)

test('an image is built from what the apps need', () => {
  const sent = files.filter(isSent)
  for (const needed of [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'scripts/bootstrap/pnpm/package-lock.json',
    'apps/auth/src/main.ts',
    'apps/auth/migrations/0001-agents.sql',
    'apps/resource/src/main.ts',
    'packages/guides/content/',
    'packages/pages/src/styles/base.css',
    'packages/metadata/openapi.json',
    'packages/metadata/src/documents/auth.template.md',
  ])
    expect(
      sent.some((file) => file.startsWith(needed)),
      needed,
    ).toBe(true)
})

test('an image has every text that the apps fill in', () => {
  const templates = files.filter((file) => file.includes('.template.'))
  expect(templates.length).toBeGreaterThan(0)
  expect(templates.filter((file) => !isSent(file))).toEqual([])
})

test('nothing that is for tests, people or this machine is sent', () => {
  const sent = files.filter(isSent)
  const unwanted =
    /\.(test|contract|fixture)\.ts$|\/(test|testing)\/|^(e2e|docs|infra|scripts(?!\/bootstrap\/pnpm\/)|apps\/local|\.git)|^\.|README/
  expect(sent.filter((file) => unwanted.test(file))).toEqual([])
  for (const never of [
    '.data/auth-kek',
    'node_modules/pg/index.js',
    'apps/auth/node_modules/koa/index.js',
    '.env',
  ])
    expect(isSent(never), never).toBe(false)
})
