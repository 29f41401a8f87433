import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

const { files, read } = openRepository(path.resolve(import.meta.dirname, '..'))

/** The files whose lengths and names are checked here. Those of TypeScript files are checked by `npm run lint`. */
const SCRIPTS = files.filter((file) => /\.(sql|sh)$|^\.ci\/run$/.test(file))

test('the tree has exactly the known folders at its root', () => {
  const folders = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]))
  const knownFolders = ['.ci', 'apps', 'bench', 'docs', 'e2e', 'infra', 'packages', 'scripts']
  expect([...folders].sort()).toEqual(knownFolders)
})

test.for([
  ...['apps/auth/', 'apps/resource/', 'apps/local/', 'docs/decisions/', 'README.md', 'CONTRIBUTING.md'],
  ...['domain', 'metadata', 'http', 'postgres', 'pages', 'sealing', 'guides'].map(
    (name) => `packages/${name}/`,
  ),
  ...['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'turbo.json', 'tsconfig.base.json', '.ci/run'],
])('the tree has %s', (name) => {
  expect(files.some((file) => file === name || (name.endsWith('/') && file.startsWith(name)))).toBe(true)
})

test('migrations and shell scripts have at most 300 lines and names in kebab-case', () => {
  expect(SCRIPTS.length).toBeGreaterThan(10)
  expect(SCRIPTS.filter((file) => read(file).trimEnd().split('\n').length > 300)).toEqual([])
  expect(SCRIPTS.filter((file) => !/^[a-z0-9.]+(-[a-z0-9.]+)*$/.test(path.basename(file)))).toEqual([])
})

test('no file or folder has a meaningless name', () => {
  const meaningless = /(^|\/)(utils?|helpers?|common|shared|misc)(\.[^/]*)?(\/|$)|-(utils?|helpers?)\.[^/]+$/
  expect(files.filter((file) => meaningless.test(file))).toEqual([])
})
